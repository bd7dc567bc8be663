#!/usr/bin/env bash
# Tests that the build of demo.sh needs nothing of CUDA: it can be configured where NVIDIA's headers are not installed.
# Counts what it compiles, because a new user waits for it.
#
#   tests/integration/demo.sh SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/deps"
for one in "${XDG_CACHE_HOME:-$HOME/.cache}"/xsp/deps/*; do
  case ${one##*/} in
    cuda-* | cu*-headers-* | nccl-headers-* | nvtx-* | libclang-* | semver-*) ;;  # what deps.sh --demo leaves out
    *) ln -s "$one" "$folder/deps/" ;;
  esac
done
cmake -S "$1" -B "$folder/build" --preset demo "-DXSP_DEPS=$folder/deps" >"$folder/log" 2>&1 ||
  { tail -n 20 "$folder/log" >&2; exit 1; }
ninja -C "$folder/build" -t commands demo >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }
objects=$(grep -c -- ' -o [^ ]*\.o -c ' "$folder/log")
most=320
[ "$objects" -gt 50 ] && [ "$objects" -le "$most" ] ||
  { echo "demo.sh compiles $objects files, and $most are allowed: what does a first answer not need?" >&2; exit 1; }
echo "demo.sh compiles $objects files"
