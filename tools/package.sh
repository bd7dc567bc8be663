#!/usr/bin/env bash
# Makes the packages that need no compiler, from a release build: a tarball, a Debian package and a wheel. All hold
# the same relocatable tree; the Debian package puts it into /opt/xsp, with a link /usr/bin/xsp.
#
#   tools/package.sh [BUILD-DIR [FOLDER]]    by default build/release, and build/packages
#
# Prints each package's path and size in bytes. Needs cmake, dpkg-deb and python3 with pip; no network.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$source/build/release}" && pwd)
mkdir -p "${2:-$source/build/packages}"
out=$(cd "${2:-$source/build/packages}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/xsp" >/dev/null
# An adapter that links a framework of this machine would need the same one elsewhere.
language='lib(c|m|gcc_s|stdc\+\+|dl|pthread)\.so|ld-linux|libxsp|libsimdjson|libfmt'
for adapter in "$scratch"/xsp/lib/xsp/adapters/*.so; do
  foreign=$(objdump -p "$adapter" | awk '/NEEDED/{print $2}' | grep -vE "^($language)" | paste -sd ' ' || true)
  [ -n "$foreign" ] || continue
  rm "$adapter"
  # Those of the Python environment are built there, on first use.
  [ -e "${adapter%.so}_local.py" ] ||
    echo "this package leaves out what links $foreign: build xsp where they are: ./demo.sh" >"${adapter%.so}.absent"
done
# Debug symbols are half of the size.
find "$scratch/xsp" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec strip --strip-unneeded {} + 2>/dev/null || true
version=$("$scratch/xsp/bin/xsp" --version)
machine=$(uname -m)

tarball="$out/xsp-$version-linux-$machine.tar.gz"
mv "$scratch/xsp" "$scratch/xsp-$version"
tar -C "$scratch" --owner=0 --group=0 -czf "$tarball" "xsp-$version"

debian="$scratch/debian"
mkdir -p "$debian/DEBIAN" "$debian/opt" "$debian/usr/bin"
cp -a "$scratch/xsp-$version" "$debian/opt/xsp"
ln -s ../../opt/xsp/bin/xsp "$debian/usr/bin/xsp"
cat >"$debian/DEBIAN/control" <<CONTROL
Package: xsp
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: the xsp authors <xsp@localhost>
Installed-Size: $(du -sk "$debian/opt" | cut -f1)
Depends: libc6 (>= 2.36), libstdc++6 (>= 12)
Recommends: python3
Section: devel
Priority: optional
Description: across-stack profiler for machine-learning models
 One command runs a model in its framework, and gives one hierarchy from the model
 to its layers, library calls, kernels and hardware counters.
CONTROL
package="$out/xsp_${version}_$(dpkg --print-architecture).deb"
# Every dpkg reads gzip; xz takes minutes.
dpkg-deb --root-owner-group -Zgzip --build "$debian" "$package" >/dev/null

cp -r "$source/python" "$scratch/python"
PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip wheel --quiet --no-deps "$scratch/python" \
  -C "tree=$scratch/xsp-$version" -w "$scratch/wheels"
mv "$scratch"/wheels/*.whl "$out"
for file in "$tarball" "$package" "$out"/xsp-"$version"-*.whl; do echo "$(stat -c %s "$file") $file"; done
