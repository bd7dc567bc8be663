#!/usr/bin/env bash
# Draws docs/img anew: the real pages over the recorded GPU evaluation, and over one of the same model that is measured
# on this machine's CPU (once: remove build/browser/pictures to measure again).
#
#   tests/browser/pictures.sh
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
samples="$root/build/browser/pictures"

mkdir -p "$samples" "$root/docs/img"
tar -xf "$root/tests/data/gpu/h200_resnet50.tar.xz" -C "$samples"
[ -e "$samples/cpu_resnet50.xsp" ] ||
  "$root/build/release/bin/xsp" profile resnet50 --levels model,layer --batch 1,2,4 --max-time 20 \
    -o "$samples/cpu_resnet50.xsp"
./served.sh "$samples" node node_modules/@playwright/test/cli.js test --config drive.config.ts pictures.drive.ts
