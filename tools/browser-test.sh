#!/usr/bin/env bash
# Runs the dashboard's tests in a headless browser against the given binary. They live in a module of their own, so
# that the browser driver stays out of the product's dependencies.
set -euo pipefail

binary=${1:?usage: browser-test.sh BINARY}
if [[ ! -f test/browser/go.mod ]]; then
  echo "SKIPPED: test/browser holds no tests"
  exit 0
fi
for browser in chromium chromium-browser google-chrome; do
  if command -v "$browser" >/dev/null 2>&1; then
    MANDATE=$binary MANDATE_BROWSER=$(command -v "$browser") "${GO:-go}" -C test/browser test -count=1 ./...
    exit 0
  fi
done
echo "SKIPPED: no browser found (chromium, chromium-browser or google-chrome)"
