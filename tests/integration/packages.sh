#!/usr/bin/env bash
# Tests that the packages of tools/package.sh, unpacked anywhere, measure a model without the tree that they come from,
# and need no library beyond those of the C and C++ languages.
#
#   tests/integration/packages.sh --make BUILD-DIR SOURCE-DIR PACKAGES   makes them, once for all tests of packages
#   tests/integration/packages.sh SOURCE-DIR PACKAGES                    tests them
set -euo pipefail
fail() { echo "packages: $1" >&2; exit 1; }

if [ "$1" = --make ]; then
  build=$(cd "$2" && pwd) source=$(cd "$3" && pwd) packages=$4
  rm -rf "$packages"
  "$source/tools/package.sh" "$build" "$packages" >"$build/packages.sizes" || fail "they cannot be made"
  mv "$build/packages.sizes" "$packages/sizes"
  [ "$(wc -l <"$packages/sizes")" = 3 ] || fail "there are not three: $(cat "$packages/sizes")"
  exit 0
fi

source=$(cd "$1" && pwd) packages=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tarball" "$scratch/debian"
tar -xzf "$packages"/*.tar.gz -C "$scratch/tarball"
dpkg-deb -x "$packages"/*.deb "$scratch/debian"
/usr/bin/python3 -m venv --without-pip "$scratch/wheel"
PIP_NO_INDEX=1 python3 -m pip --python "$scratch/wheel/bin/python" install --quiet --no-deps "$packages"/*.whl
programs=("$scratch"/tarball/xsp-*/bin/xsp "$scratch/debian/usr/bin/xsp" "$scratch/wheel/bin/xsp")

cd "$scratch"
for program in "${programs[@]}"; do
  log=$(env -i PATH=/usr/bin:/bin HOME="$scratch" "$program" profile "$source/tests/data/onnx/tiny.onnx" --max-time 1 \
    --no-peaks -o tiny.xsp 2>&1) || fail "$program: cannot profile: $log"
  grep -q 'an inference takes' <<<"$log" || fail "$program: gives no answer: $log"
  rm tiny.xsp
  # Manifests of models that answer files are in the package, too.
  env -i PATH=/usr/bin:/bin HOME="$scratch" "$program" models --list --format csv >models 2>&1
  for model in magika silero_vad resnet50; do
    grep -q "^$model," models || fail "$program: does not know the model $model: $(tail -n 2 models)"
  done
done
language='lib(c|m|gcc_s|stdc\+\+|dl|pthread)\.so|ld-linux|libxsp|libduckdb|libfmt|libsimdjson'
find tarball -type f \( -path '*/bin/xsp*' -o -name 'libxsp*.so' -o -path '*/adapters/*.so' \) -exec objdump -p {} + >linked
needed=$(awk '/NEEDED/{print $2}' linked | sort -u | grep -vE "^($language)" || true)
[ -z "$needed" ] || fail "they need $needed"
echo "the packages work: $(paste -sd' ' "$packages/sizes")"
