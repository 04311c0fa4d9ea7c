#!/usr/bin/env bash
# Installs the system packages that the tests use, where they are missing. Tests that need something which cannot be
# installed say SKIPPED and why; nothing is skipped in silence.
set -euo pipefail

missing=()
have() { command -v "$1" >/dev/null 2>&1; }

have git || missing+=(git)
# The race detector links against C.
have gcc || have clang || missing+=(gcc libc6-dev)
# The dashboard's tests drive a browser.
have chromium || have chromium-browser || have google-chrome || missing+=(chromium)

if [[ ${#missing[@]} -eq 0 ]]; then
  echo "nothing to install"
  exit 0
fi
if ! have apt-get || [[ $(id -u) -ne 0 ]]; then
  echo "SKIPPED: cannot install ${missing[*]} (needs apt-get and root); tests that use them will say so"
  exit 0
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"; }; then
  echo "SKIPPED: apt-get failed for ${missing[*]}; tests that use them will say so"
fi
