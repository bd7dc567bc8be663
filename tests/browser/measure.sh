#!/usr/bin/env bash
# Measures the speed of the page on a large evaluation: prints one line per figure.
#
#   tests/browser/measure.sh [FILE.xsp]       without a file: one of a million spans, made by bench_timeline
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
samples="$root/build/browser/measure"
file=${1:+$(realpath "$1")}

cd "$root/tests/browser"
rm -rf "$samples"
mkdir -p "$samples"
if [ -n "$file" ]; then
  cp "$file" "$samples/large.xsp"
else
  "$root/build/release/bin/bench_timeline" --spans 1000000 --keep "$samples/large.xsp"
fi
"$root/build/release/bin/xsp" report "$samples/large.xsp" -o "$samples/large.html"
./served.sh "$samples" node node_modules/@playwright/test/cli.js test --config drive.config.ts measure.drive.ts
