#!/usr/bin/env bash
# Installs a framework that one of xsp's adapters runs, in the version that xsp is tested with.
#
#   get_framework.sh NAME                    as `xsp doctor --install NAME` does; nothing if it is there
#   get_framework.sh --wheel PACKAGE VERSION   leaves a wheel of PyPI in the current folder
#   get_framework.sh --sdist PACKAGE VERSION   leaves a source archive of PyPI there
#   get_framework.sh --list                  the names
#
# adapters/NAME.get lists the archives and commands, one per line, in this order:
#
#   pip PACKAGE VERSION SHA256 [MEMBER...]     these members of a wheel (patterns of unzip); none: all
#   sdist PACKAGE VERSION SHA256               a source archive, unpacked without its first folder
#   maven GROUP:ARTIFACT:CLASSIFIER VERSION SHA256 [MEMBER...]   likewise of a jar; needs Maven's mvn
#   run COMMAND...                             runs in the folder, with $XSP_GET the folder of NAME.get
#   # opens: .pb                               endings for which an error advises this framework
#
# The framework is installed in ${XDG_CACHE_HOME:-~/.cache}/xsp/frameworks/NAME, where the adapter looks
# for it, completely or not at all. Needs python3 with pip, and unzip; no root.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tables="$here"
[ -d "$here/../adapters" ] && [ -f "$here/deps.lock" ] && tables="$here/../adapters"
tables="${XSP_GET_TABLES:-$tables}"  # tables may lie elsewhere: some frameworks are only for tests
frameworks="${XDG_CACHE_HOME:-$HOME/.cache}/xsp/frameworks"

die() { echo "error: $1" >&2; exit 1; }

wheel() {
  python3 -m pip download --quiet --no-deps --only-binary=:all: --implementation cp --python-version 311 \
    --abi cp311 --abi abi3 --abi none --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_25_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 "$1==$2"
}
# pip asks a source archive for its name; with what is installed it does so without fetching what would build it.
sdist() {
  python3 -m pip download --quiet --no-deps --no-binary=:all: --no-build-isolation "$1==$2" ||
    python3 -m pip download --quiet --no-deps --no-binary=:all: "$1==$2"
}
maven() {
  local group artifact classifier
  IFS=: read -r group artifact classifier <<<"$1"
  command -v mvn >/dev/null || die "mvn: not installed: apt-get install maven"
  # Jars of libraries are large: Maven's own folder keeps no second copy of them.
  mvn -q -B "-Dmaven.repo.local=$PWD/../.repository" dependency:copy -DoutputDirectory=. \
    "-Dartifact=$group:$artifact:$2:jar:$classifier"
}

get() { # get KIND PACKAGE VERSION SHA256 MEMBERS...: unpacks it into the current folder
  local kind=$1 package=$2 version=$3 sha256=$4 archive; shift 4
  echo "fetching $package $version" >&2
  mkdir .archive
  (cd .archive && "$kind" "$package" "$version") >.log 2>&1 ||
    { tail -n 5 .log >&2; die "$package $version: cannot be fetched: is the package index within reach?"; }
  archive=$(ls .archive)
  echo "$sha256  .archive/$archive" | sha256sum --check --status ||
    die "$package $version: its sha256 is $(sha256sum ".archive/$archive" | cut -d' ' -f1), not that of the table"
  case $archive in
    *.whl | *.jar) unzip -q ".archive/$archive" "$@" ;;
    *.tar.gz) tar -xzf ".archive/$archive" --strip-components=1 ;;
    *) die "$archive: unknown kind of archive" ;;
  esac
  rm -rf .archive .repository .log
}

install_framework() {
  local name=$1 table="$tables/$1.get" folder="$frameworks/$1" stamp kind rest
  [ -f "$table" ] || die "$name: there is no such framework to install: choose from $(list)"
  stamp=$(grep -v '^# opens:' "$table" | sha256sum | cut -c1-16)
  if [ "$(cat "$folder/.complete" 2>/dev/null)" = "$stamp" ]; then
    [ ! -t 2 ] || echo "$name: is in $folder" >&2
    return 0
  fi
  [ "$(uname -m)" = x86_64 ] || die "$name: the versions that xsp pins are for x86_64: install it yourself"
  command -v unzip >/dev/null || die "unzip: not installed: apt-get install unzip"
  python3 -m pip --version >/dev/null 2>&1 || die "python3 -m pip: not installed: apt-get install python3-pip"
  mkdir -p "$frameworks"
  unfinished=$(mktemp -d "$frameworks/.$name.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  cd "$unfinished"
  while read -r kind rest <&3; do
    case $kind in
      '' | '#'*) ;;
      pip) set -f; get wheel $rest; set +f ;;
      sdist) get sdist $rest ;;
      maven) set -f; get maven $rest; set +f ;;
      run) XSP_GET="$tables" bash -euc "$rest" >.log 2>&1 ||
        { tail -n 20 .log >&2; die "$name: '$rest' failed"; } ;;
      *) die "$table: '$kind' is not known here" ;;
    esac
  done 3<"$table"
  rm -f .log
  echo "$stamp" >.complete
  rm -rf "$folder"
  mv "$unfinished" "$folder"
  chmod 755 "$folder"
  echo "$name: installed in $folder ($(du -sm "$folder" | cut -f1) MB)" >&2
}

list() { (cd "$tables" && ls -- *.get 2>/dev/null | sed 's/\.get$//' | paste -sd ' '); }

case ${1:---help} in
  --wheel) wheel "$2" "$3" ;;
  --sdist) sdist "$2" "$3" ;;
  --list) list ;;
  -*) sed -n '2,/^set -e/p' "$0" | sed '$d;s/^# \{0,1\}//' ;;
  *) install_framework "$1" ;;
esac
