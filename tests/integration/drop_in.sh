#!/usr/bin/env bash
# Tests that the build finds a new analysis, finding, adapter, collector, watched framework, model, step of a pipeline
# and page with no other file edited. It builds a scratch copy of the tree, and asks the resulting binary.
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
sed -e 's/vgg16/dropped_in/; s/vgg_recipes/dropped_recipes/' zoo/vgg.cc >zoo/dropped.cc
sed -e 's/"softmax"/"dropped"/; s/softmax_step/dropped_step/' pipelines/softmax.cc >pipelines/dropped.cc
mkdir web/src/pages/dropped
cat >web/src/pages/dropped/page.ts <<'TS'
import type { Page } from '../../pages';
import Dropped from './Dropped.svelte';

export default { name: 'dropped', title: 'Dropped in', order: 99, component: Dropped } as Page;
TS
echo '<p>This page was dropped in.</p>' >web/src/pages/dropped/Dropped.svelte
cat >python/xsp/watch/dropped_library.py <<'PY'
def install(module):
    module.work = watched(module.work)


def watched(work):
    def call():
        import xsp
        with xsp.span("dropped_work", level="layer"):
            return work()
    return call
PY
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
grep -q 'This page was dropped in' dropped.html || fail "the page lacks the page that was dropped in"
"$xsp" models | grep -w dropped_in >/dev/null || fail "the model is not in the list"
printf '%s\n' 'name: dropped' 'version: 1.0.0' 'task: classification' 'framework: {name: fake}' 'model: {path: dropped.fake}' \
  'inputs: [{name: x, from: bytes, steps: [byte_window: {begin: 8}, cast: {to: float32}]}]' \
  'outputs: [{name: y, steps: [dropped, top: {count: 1}]}]' >dropped.yaml
echo fake:layers=1 >dropped.fake
printf 'aaaaazaa' >eight
[ "$("$xsp" predict dropped.yaml eight --quiet --format csv | tail -n 1 | cut -d, -f1-4)" = eight,y,1,5 ] ||
  fail "the step of a pipeline does not run"
mkdir program
echo 'def work(): return 3' >program/dropped_library.py
echo 'import dropped_library; raise SystemExit(dropped_library.work() - 3)' >program/main.py
"$xsp" run --quiet -o watched.xsp -- python3 program/main.py || fail "a program with a watched framework fails"
"$xsp" query watched.xsp "SELECT count(*) FROM span WHERE name = 'dropped_work'" --format csv | grep -x 1 >/dev/null ||
  fail "the framework is not watched"

[ "$before" = "$(sha256sum --quiet -c <<<"$before" >/dev/null && echo "$before")" ] ||
  fail "a file that was there before has changed"
echo "an analysis, a finding, an adapter, a collector, a watched framework, a model, a step and a page were found," \
  "with no file edited"
