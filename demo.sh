#!/usr/bin/env bash
# Builds xsp and profiles a real ResNet-50 with ONNX Runtime on this machine's CPU, at the levels model
# and layer. Creates build/release/bin/xsp, resnet50.xsp and its page, resnet50.html.
set -euo pipefail
cd "$(dirname "$0")"
xsp=build/release/bin/xsp

tools/deps.sh --build
mkdir -p build
echo "building xsp (log: build/release.log)" >&2
{ cmake --preset release -DXSP_TESTS=OFF && cmake --build --preset release; } >build/release.log 2>&1 ||
  { tail -n 30 build/release.log >&2; echo "error: the build failed: see build/release.log" >&2; exit 1; }

"$xsp" profile resnet50 --levels model,layer --max-time 60 -o resnet50.xsp
"$xsp" report resnet50.xsp -o resnet50.html
