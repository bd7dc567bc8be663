#!/usr/bin/env bash
# Builds xsp's adapter `torch` against the PyTorch on this machine, and puts it into an installed xsp. It needs
# cmake and g++.
#
#   lib/xsp/adapters/src/build_torch_adapter.sh [PREFIX [CMAKE-OPTIONS...]]
#
# PREFIX is the folder in which xsp is installed; by default the tree in which this file lies. PyTorch is
# python3's package `torch`, or Debian's, unless XSP_TORCH or -DXSP_TORCH=FOLDER names a folder with include/
# and lib/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here
[ -e "$root/adapters/torch/CMakeLists.txt" ] || root=$(dirname "$here")
prefix=$(cd "${1:-$here/../../../..}" && pwd)
[ -e "$prefix/lib/libxsp.so" ] || { echo "error: $prefix: xsp is not installed there: give its folder" >&2; exit 1; }
build=$(mktemp -d); trap 'rm -rf "$build"' EXIT
{
  cmake -S "$root/adapters/torch" -B "$build" -DXSP_PREFIX="$prefix" -DCMAKE_INSTALL_PREFIX="$prefix" "${@:2}" &&
    cmake --build "$build" --parallel "$(nproc)" &&
    cmake --install "$build"
} >"$build/log" 2>&1 || { grep -iE 'error' "$build/log" | head -n 20 >&2; tail -n 5 "$build/log" >&2; exit 1; }
grep -E 'adapters/torch:' "$build/log" | sed 's/^-- //' >&2
echo "$prefix/lib/xsp/adapters/torch.so"
