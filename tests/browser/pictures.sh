#!/usr/bin/env bash
# Draws docs/img anew: the real pages over the recorded GPU evaluation, and over evaluations that are measured on this
# machine's CPU (once: remove build/browser/pictures to measure again): the same model, and MobileNet v1 in its sizes.
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
for size in {0.25,0.5,0.75,1.0}_{128,160,192,224}; do
  name=mobilenet_v1_$size
  [ $size != 1.0_224 ] || name=mobilenet_v1
  [ -e "$samples/$name.xsp" ] ||
    "$root/build/release/bin/xsp" profile $name --levels model --batch 1,4 --max-time 6 -o "$samples/$name.xsp"
done
./served.sh "$samples" node node_modules/@playwright/test/cli.js test --config drive.config.ts pictures.drive.ts
