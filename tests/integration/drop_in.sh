#!/usr/bin/env bash
# Tests that the build finds a new analysis, finding, adapter, exporter of models, collector, watched framework, model,
# metric, data set, step of a pipeline, exporter, importer, executor and page with no other file edited. It builds a
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
cat >tools/export_dropped_in.py <<'PY'
import sys

open(sys.argv[-1] + ".fake", "w").write("fake:layers=1")
PY
sed -e 's/"cpu"/"dropped_in"/' collectors/cpu.cc >collectors/dropped_in.cc
sed -e 's/vgg16/dropped_in/; s/vgg_recipes/dropped_recipes/' zoo/vgg.cc >zoo/dropped.cc
sed -e 's/"softmax"/"dropped"/; s/softmax_step/dropped_step/' pipelines/softmax.cc >pipelines/dropped.cc
sed -e 's/psnr/dropped_in/g' metrics/psnr.cc >metrics/dropped_in.cc
sed -e 's/"local"/"dropped_in"/; s/local_executors/dropped_in_executors/' executors/local.cc >executors/dropped_in.cc
cat >exporters/dropped_in.cc <<'CC'
#include "exporters/shared/exporter.h"
#include "exporters/shared/output.h"
#include "exporters/shared/spans.h"

namespace xsp::exporters {
namespace {

// Writes the names of the spans, one a line.
Result<Written> write(const Request& request) {
  XSP_TRY(store::Database database, open_for_export(request));
  XSP_TRY(Output output, Output::create(request.output));
  const auto put = [&](const Span& span) -> Status {
    output.text() += span.name + "\n";
    return output.spill();
  };
  XSP_TRY(const uint64_t spans, each_span(database, request, put));
  XSP_CHECK_OK(output.close());
  return Written{spans, "names"};
}

}  // namespace

std::vector<Exporter> dropped_in_exporters() {
  return {{"dropped_in", "names of spans", ".names", Takes::kSpans, write}};
}

}  // namespace xsp::exporters
CC
cat >importers/dropped_in.cc <<'CC'
#include <fstream>

#include "importers/shared/importer.h"
#include "xsp/xsp.h"

namespace xsp::importers {
namespace {

constexpr std::string_view kFirst = "dropped in";

bool recognises(std::string_view head) { return head.substr(0, kFirst.size()) == kFirst; }

// Reads a name of a layer from each line after the first.
Result<uint64_t> read(const std::filesystem::path& file, SpanSink& sink) {
  std::ifstream lines(file);
  ForeignSpan span;
  span.level = XSP_LEVEL_LAYER;
  span.process = span.thread = 1;
  span.duration_ns = 5;
  std::getline(lines, span.name);
  while (std::getline(lines, span.name)) {
    span.start_ns += 10;
    XSP_CHECK_OK(sink.add(span));
  }
  return uint64_t{0};
}

}  // namespace

std::vector<Importer> dropped_in_importers() {
  return {{"dropped_in", "names of layers", recognises, read}};
}

}  // namespace xsp::importers
CC
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
cmake --build --preset release --target demo >build.log 2>&1 || { tail -n 20 build.log >&2; fail "the build failed"; }

xsp=build/release/bin/xsp
"$xsp" analyze --list --format json | grep '"dropped_in"' >/dev/null || fail "the analysis is not in the list"
doctor=$("$xsp" doctor --format json)
[ "$(grep -c '"dropped_in"' <<<"$doctor")" -ge 2 ] || fail "doctor lacks the adapter or the collector"
grep -q 'calls of .*dropped_library' <<<"$doctor" || fail "doctor lacks the watched framework"
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
# A data set is a folder with a folder for each label, wherever it is.
mkdir -p set/0 set/5
printf 'zaaaaaaa' >set/0/first
cp eight set/5
"$xsp" evaluate dropped.yaml --accuracy --data set --quiet -o set.xsp | grep '^top1: 1 ' >/dev/null ||
  fail "the data set is not read"
printf '%s\n' 'name: made' 'version: 1.0.0' 'task: any' 'framework: {name: dropped_in}' \
  'model: {export: net}' >made.yaml
XDG_CACHE_HOME=$scratch/cache "$xsp" profile made.yaml --max-time 0.2 --no-peaks -o made.xsp >/dev/null ||
  fail "the exporter of models does not export"
mkdir program
echo 'def work(): return 3' >program/dropped_library.py
echo 'import dropped_library; raise SystemExit(dropped_library.work() - 3)' >program/main.py
"$xsp" run --quiet -o watched.xsp -- python3 program/main.py || fail "a program with a watched framework fails"
"$xsp" query watched.xsp "SELECT count(*) FROM span WHERE name = 'dropped_work'" --format csv | grep -x 1 >/dev/null ||
  fail "the framework is not watched"

# No verb lists the metrics: the generated list must call the new one, and the library must have it.
grep -q 'dropped_in_metrics()' build/release/generated/all_metrics.cc &&
  nm -C build/release/libxsp_metrics.a | grep ' T xsp::metrics::dropped_in_metrics' >/dev/null ||
  fail "the metric is not in the list"
printf '%s\n' 'name: swept' 'models: ["fake:layers=1"]' 'options: {max-time: 0.2, no-peaks: true}' >swept.yaml
"$xsp" sweep swept.yaml --executor dropped_in --quiet >swept.txt || fail "the executor runs no sweep"
grep -q '1 of 1 done' swept.txt || fail "the executor's sweep is not done"
"$xsp" sweep --help | grep -w dropped_in >/dev/null || fail "the executor is not in the help"
"$xsp" export dropped.xsp --to dropped_in -o dropped.names || fail "there is no such exporter"
grep -qx 'layer.*' dropped.names || fail "the exporter writes no names"
"$xsp" export --help | grep -w dropped_in >/dev/null || fail "the exporter is not in the help"
printf 'dropped in\nconv\nrelu\n' >layers.txt
"$xsp" import layers.txt -o imported.xsp || fail "there is no such importer"
"$xsp" query imported.xsp "SELECT string_agg(name, '+' ORDER BY start_ns) FROM span WHERE level = 3" --format csv |
  grep -x 'conv+relu' >/dev/null || fail "the importer reads no spans"

[ "$before" = "$(sha256sum --quiet -c <<<"$before" >/dev/null && echo "$before")" ] ||
  fail "a file that was there before has changed"
echo "an analysis, a finding, an adapter, an exporter of models, a collector, a watched framework, a model, a metric," \
  "a data set, a step, an exporter, an importer, an executor and a page were found, with no file edited"
