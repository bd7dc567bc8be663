#!/usr/bin/env bash
# Draws docs/img anew: the real pages over the recorded GPU evaluation, and over evaluations that are measured on this
# machine's CPU (once: remove build/browser/pictures and build/browser/history to measure again): the same model, MobileNet
# v1 in its sizes, and a repository whose model gets slower in one commit.
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
./served.sh "$samples" node node_modules/@playwright/test/cli.js test --config drive.config.ts pictures.drive.ts \
  --grep-invert history

# Five commits of a repository with one model, each measured once it is made. The third doubles the width of the model's
# layers, and the fifth takes that back; the others leave the model as it is.
history="$root/build/browser/history"
if [ ! -e "$history/5.xsp" ]; then
  rm -rf "$history" && mkdir -p "$history/net"
  git -C "$history/net" init --quiet
  for commit in {1..5}; do
    width=0.5
    case $commit in 3 | 4) width=1.0 ;; esac
    (
      cd "$history/net"
      "$root/build/release/bin/xsp" models build mobilenet_v1_${width}_192 --force -o net.onnx
      echo "$commit" >number
      git add . && git -c user.name=xsp -c user.email=xsp@localhost commit --quiet -m "commit $commit"
    )
    "$root/build/release/bin/xsp" profile "$history/net/net.onnx" --levels model --batch 1 --threads 1 --no-peaks \
      --max-time 10 --tag "commit=$(git -C "$history/net" rev-parse HEAD)" -o "$history/$commit.xsp"
  done
fi
./served.sh "$history" node node_modules/@playwright/test/cli.js test --config drive.config.ts pictures.drive.ts \
  --grep history
