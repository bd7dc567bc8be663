#!/usr/bin/env bash
# Tests the packages of tools/package.sh where nothing is installed: in an empty Debian 12 and 13, without a network, as
# a user does: install, `xsp profile` of a model of the zoo, `xsp doctor`.
#
#   tests/integration/debian.sh PACKAGES               tests; prints the seconds and bytes to the first answer
#   tests/integration/debian.sh --fetch [RELEASE...]   makes the empty systems, with debootstrap and a network
#
# The systems are in ~/.cache/xsp/userlands. PACKAGES is a folder that tools/package.sh filled. It needs root, for
# chroot. What is missing is said after "skipped:", with exit status 77.
set -euo pipefail
userlands="${XDG_CACHE_HOME:-$HOME/.cache}/xsp/userlands"
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "debian: $1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "chroot needs root"

if [ "${1:-}" = --fetch ]; then
  shift
  command -v debootstrap >/dev/null || skip "debootstrap is not there: apt-get install debootstrap"
  mkdir -p "$userlands"
  for release in "${@:-bookworm trixie}"; do
    for one in $release; do
      [ ! -e "$userlands/$one/.complete" ] || continue
      rm -rf "$userlands/$one"
      debootstrap --variant=minbase "$one" "$userlands/$one" >"$userlands/$one.log" 2>&1 ||
        { tail -n 3 "$userlands/$one.log" >&2; fail "$one cannot be made: see $userlands/$one.log"; }
      # The packages that the wheel needs are fetched now and installed in the test.
      chroot "$userlands/$one" apt-get update -qq
      chroot "$userlands/$one" apt-get install -y --download-only --no-install-recommends python3-venv >/dev/null
      touch "$userlands/$one/.complete"
    done
  done
  exit 0
fi

packages=$(cd "$1" && pwd)
releases=()
for release in bookworm trixie; do [ ! -e "$userlands/$release/.complete" ] || releases+=("$release"); done
[ ${#releases[@]} -gt 0 ] || skip "no empty system in $userlands: tests/integration/debian.sh --fetch makes them"
scratch=$(mktemp -d)
mkdir "$scratch/layer"
trap 'rm -rf "$scratch"' EXIT

# Runs in the empty system: installs one package, and asks for the first answer.
cat >"$scratch/user.sh" <<'USER'
set -euo pipefail
way=$1
export HOME=/srv/user LC_ALL=C.UTF-8
mkdir -p "$HOME"
cd "$HOME"
fail() { echo "$way: $1" >&2; exit 1; }
now() { date +%s.%N; }
begin=$(now)
case $way in
  tarball) tar -xzf /packages/xsp-*.tar.gz && tree=$(echo "$HOME"/xsp-*) && PATH=$tree/bin:$PATH ;;
  deb) dpkg -i /packages/xsp_*.deb >log 2>&1 || fail "$(tail -n 3 log)"; tree=/opt/xsp ;;
  wheel)
    apt-get install -y --no-download --no-install-recommends python3-venv >log 2>&1 || fail "$(tail -n 3 log)"
    begin=$(now)  # Python is the user's own
    python3 -m venv env
    env/bin/pip install --quiet --no-index --no-deps /packages/xsp-*.whl
    tree=$HOME/env PATH=$HOME/env/bin:$PATH
    ;;
esac
installed=$(now)
bytes=$(du -sb "$tree" | cut -f1)
xsp profile mobilenet_v2 --max-time 4 --no-peaks >answer 2>log || fail "no profile: $(tail -n 3 log)"
end=$(now)
grep -q 'inference takes' answer || fail "no answer: $(cat answer)"
[ "$(xsp query mobilenet_v2.xsp 'SELECT count(*) > 20 AS n FROM layer' --format csv | tail -n 1)" = true ] ||
  fail "it has no layers"
xsp report mobilenet_v2.xsp -o page.html 2>/dev/null && grep -q '</html>' page.html || fail "no report"
xsp doctor --format csv >doctor || fail "xsp doctor fails"
grep -q '^framework,onnxruntime,available' doctor || fail "ONNX Runtime does not run: $(grep onnxruntime doctor)"
grep -q '^xsp run,programs,available' doctor || fail "programs are not watched: $(grep 'xsp run,programs' doctor)"
# Each framework that is not there has what to do.
awk -F, '/^framework,/ && /not available/ && $NF == ""' doctor >without
[ ! -s without ] || fail "no remedy: $(cat without)"
xsp run -o run.xsp -- ls / >/dev/null 2>log || fail "a program cannot be watched: $(cat log)"
if [ "$way" = deb ]; then
  dpkg -r xsp >/dev/null && [ ! -e /opt/xsp ] && [ ! -e /usr/bin/xsp ] || fail "the package leaves files behind"
fi
awk "BEGIN{printf \"%.1f s installed, %.1f s to the answer, %d bytes installed\n\",
  $installed - $begin, $end - $begin, $bytes}"
USER

for release in "${releases[@]}"; do
  for way in tarball deb wheel; do
    case $way in tarball) file=(xsp-*.tar.gz) ;; deb) file=(xsp_*.deb) ;; wheel) file=(xsp-*.whl) ;; esac
    bytes=$(cd "$packages" && stat -c %s ${file[0]})
    # The system lies below a layer in memory, so that each way begins with an empty one; it has no network.
    said=$(unshare --mount --net --pid --fork bash -euc '
      mount -t tmpfs -o size=3g tmpfs "$1/layer"
      mkdir "$1"/layer/{upper,work,system}
      mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/layer/upper,workdir=$1/layer/work" "$1/layer/system"
      mkdir -p "$1/layer/system/packages"
      mount --bind "$3" "$1/layer/system/packages"
      mount --bind /dev "$1/layer/system/dev"
      mount -t proc proc "$1/layer/system/proc"
      cp "$1/user.sh" "$1/layer/system/srv/user.sh"
      exec chroot "$1/layer/system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /srv/user.sh "$4"
    ' bash "$scratch" "$userlands/$release" "$packages" "$way" 2>&1) || fail "$release: $said"
    echo "$release $way: $bytes bytes, $(tail -n 1 <<<"$said")"
  done
done
