#!/usr/bin/env bash
# Runs a command while `xsp serve` serves a folder of evaluations; XSP_ADDRESS has the server's address.
#
#   tests/browser/served.sh FOLDER COMMAND...
set -euo pipefail
xsp="$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin/xsp"
[ -x "$xsp" ] || { echo "error: $xsp: there is none: build it: cmake --build --preset release" >&2; exit 1; }
folder=$1; shift

said=$(mktemp)
"$xsp" serve "$folder" --listen 127.0.0.1:0 2>"$said" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$said"' EXIT
XSP_ADDRESS=
while [ -z "$XSP_ADDRESS" ]; do
  kill -0 "$server" 2>/dev/null || { cat "$said" >&2; exit 1; }
  XSP_ADDRESS=$(sed -nE 's/.* at (http[^ ]+).*/\1/p' "$said")
  sleep 0.1
done
export XSP_ADDRESS
"$@"
