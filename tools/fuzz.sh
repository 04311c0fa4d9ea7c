#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME. The targets are found, not listed, so that none is forgotten.
# The default is a number of inputs and not a time: when a time runs out on a busy machine, Go's coordinator can
# report "context deadline exceeded" as a failure of the target although it found nothing (golang/go#75804).
set -euo pipefail

packages=${PACKAGES:-./...}
time=${FUZZTIME:-5000x}
go=${GO:-go}
count=0

targets=$("$go" test -list '^Fuzz' "$packages" | awk '/^Fuzz/ {names[++n] = $1} /^ok/ {for (i = 1; i <= n; i++) print $2, names[i]; n = 0}')
while read -r package name; do
  [[ -n $package ]] || continue
  echo "fuzz $package $name $time"
  "$go" test -run='^$' -fuzz="^${name}\$" -fuzztime="$time" -fuzzminimizetime=1x "$package"
  count=$((count + 1))
done <<<"$targets"

if [[ $count -eq 0 ]]; then
  echo "no fuzz target was found" >&2
  exit 1
fi
echo "$count fuzz targets passed"
