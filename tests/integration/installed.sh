#!/usr/bin/env bash
# Tests that the tree that `cmake --install` makes runs from anywhere, without the caches and the build tree that it
# came from; so does the tarball.
#
#   tests/integration/installed.sh BUILD-DIR SOURCE-DIR
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "installed: $1" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mkdir "$scratch/a folder"
mv "$scratch/first" "$scratch/a folder/xsp"
installed="$scratch/a folder/xsp"
run() { env -i PATH=/usr/bin:/bin HOME="$scratch" "$installed/bin/xsp" "$@"; }
cd "$scratch"

grep -rl "$build" "$installed" | grep . && fail "the files above name the build tree"
for file in "$installed"/bin/xsp* "$installed"/lib/xsp/*/*.so "$installed/lib/libxsp.so"; do
  ldd "$file" | grep -q 'not found' && fail "$file lacks a library: $(ldd "$file" | grep 'not found')"
done
run doctor --format json >doctor.json || fail "doctor failed"
grep -q '"onnxruntime"' doctor.json || fail "doctor does not list onnxruntime"
run profile "$source/tests/data/onnx/tiny.onnx" --max-time 5 --no-peaks -o tiny.xsp >/dev/null 2>log ||
  fail "a model cannot be profiled: $(tail -n 1 log)"
run analyze layer_information tiny.xsp --format csv | grep ',' >/dev/null || fail "the layers are not there"
run run -o run.xsp -- /usr/bin/python3 -c 'import xsp
with xsp.span("own"): pass' 2>log || fail "a program cannot be watched: $(tail -n 1 log)"
[ "$(run query run.xsp "SELECT name FROM span WHERE type IS NULL" --format csv | tail -n 1)" = own ] ||
  fail "the program's own span is not in the evaluation"

(cd "$build" && cpack -G TGZ --config CPackConfig.cmake -B "$scratch/pack" >/dev/null) || fail "cpack failed"
tar -tzf "$scratch"/pack/xsp-*.tar.gz | grep '/bin/xsp$' >/dev/null || fail "the tarball has no bin/xsp"
echo "the installed tree runs from a folder of another name"
