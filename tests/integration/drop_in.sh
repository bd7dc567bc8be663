#!/usr/bin/env bash
# Tests that the build finds a new analysis, finding, adapter and collector with no other file edited. It builds a
# scratch copy of the tree, and asks the resulting binary.
#
#   tests/integration/drop_in.sh SOURCE-DIR
set -euo pipefail
source=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "drop_in: $1" >&2; exit 1; }

(cd "$source" && git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$scratch" 2>/dev/null) || true
cd "$scratch"
ln -s "$(readlink -f "$source/web/node_modules")" web/node_modules
before=$(find . -type f | sort | xargs sha256sum)

cat >analyses/dropped_in.sql <<'SQL'
-- @id z9
-- @name dropped_in
-- @title Runs, counted
-- @question How many runs does the evaluation hold?
-- @column runs count Number of runs
SELECT count(*) AS runs FROM run;
SQL
cat >analyses/findings/dropped_in.sql <<'SQL'
-- @title Layers, counted
-- @rule A model has layers.
-- @needs layer
SELECT concat(count(*), ' layers could go.') AS finding, 'layer' AS level, sum(latency_ns) AS gain_ns,
  'Leave them out.' AS advice, 'layer_information' AS evidence, 'Count them.' AS check
FROM layers((SELECT batch FROM finding_batch))
SQL
sed -e 's/"fake"/"dropped_in"/' adapters/fake.cc >adapters/dropped_in.cc
sed -e 's/"cpu"/"dropped_in"/' collectors/cpu.cc >collectors/dropped_in.cc
printf 'set(XSP_SKIP "its library was not found")\n' >adapters/absent.cmake
cp adapters/dropped_in.cc adapters/absent.cc

cmake --preset release -DXSP_TESTS=OFF >configure.log 2>&1 || { tail -n 20 configure.log >&2; fail "configuring failed"; }
grep -q 'adapters/absent: skipped: its library was not found' configure.log ||
  fail "an adapter whose library is absent must be skipped, saying why"
cmake --build --preset release >build.log 2>&1 || { tail -n 20 build.log >&2; fail "the build failed"; }

xsp=build/release/bin/xsp
"$xsp" analyze --list --format json | grep '"dropped_in"' >/dev/null || fail "the analysis is not in the list"
doctor=$("$xsp" doctor --format json)
[ "$(grep -c '"dropped_in"' <<<"$doctor")" -ge 2 ] || fail "doctor lacks the adapter or the collector"
"$xsp" profile fake:layers=2 --framework dropped_in --max-time 5 -o dropped.xsp >/dev/null ||
  fail "the adapter cannot be profiled with"
"$xsp" analyze dropped_in dropped.xsp --format csv | grep -x '[1-9][0-9]*' >/dev/null || fail "the analysis gives no count"
"$xsp" findings dropped.xsp --format csv | grep '2 layers could go' | grep ',dropped_in,' >/dev/null ||
  fail "the finding is not among the findings"
"$xsp" report dropped.xsp -o dropped.html >/dev/null || fail "no report is written"
sed -n 's/.*application\/gzip+base64">\([^<]*\)<.*/\1/p' dropped.html | base64 -d | gunzip |
  grep '/evaluations/[^"]*/analyses/dropped_in' >/dev/null || fail "the page lacks the analysis"

[ "$before" = "$(sha256sum --quiet -c <<<"$before" >/dev/null && echo "$before")" ] ||
  fail "a file that was there before has changed"
echo "an analysis, a finding, an adapter and a collector were found with no file edited"
