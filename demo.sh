#!/usr/bin/env bash
# Builds xsp and profiles a real ResNet-50 with ONNX Runtime on this machine's CPU, at the levels model
# and layer. Creates build/demo/bin/xsp, resnet50.xsp and its page, resnet50.html.
#
# The first answer comes soon: nothing of CUDA is fetched, so the collectors for NVIDIA's GPUs are left out; and
# reports and queries are compiled with less optimisation (the profiled process is not). `tools/deps.sh --build`,
# `cmake --preset release` and `cmake --build --preset release` build everything in full, as build/release/bin/xsp.
set -euo pipefail
cd "$(dirname "$0")"
xsp=build/demo/bin/xsp

# Shows the progress of Ninja: on a terminal as one line that changes, else a line every 20 seconds.
progress() {
  local from=$SECONDS told=$SECONDS line left
  while IFS= read -r line; do
    echo "$line" >>build/demo.log
    [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\] ]] || continue
    local built=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    left=$(((SECONDS - from) * (all - built) / built))
    if [ -t 2 ]; then
      printf '\r\033[Kbuilding xsp: %d of %d, about %d s left' "$built" "$all" "$left" >&2
    elif [ $((SECONDS - told)) -ge 20 ]; then
      told=$SECONDS
      echo "building xsp: $built of $all, about $left s left" >&2
    fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

echo "step 1 of 3: what the build needs" >&2
tools/deps.sh --demo
mkdir -p build
echo "step 2 of 3: building xsp (log: build/demo.log)" >&2
fail() { tail -n 30 build/demo.log >&2; echo "error: the build failed: see build/demo.log" >&2; exit 1; }
cmake --preset demo >build/demo.log 2>&1 || fail
NINJA_STATUS='[%f/%t] ' cmake --build --preset demo 2>&1 | progress || fail

echo "step 3 of 3: profiling ResNet-50, and writing its page" >&2
"$xsp" profile resnet50 --levels model,layer --max-time 60 -o resnet50.xsp
"$xsp" report resnet50.xsp -o resnet50.html
