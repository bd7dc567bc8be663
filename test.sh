#!/usr/bin/env bash
# Runs every test of xsp. Installs the tools that it needs (tools/deps.sh), builds, tests; prints the failures last.
#
#   ./test.sh            all of it: style, unit, contract and integration tests with sanitizers, the
#                        threaded parts under ThreadSanitizer, the fuzzers' corpora, the installed tree,
#                        and the parts in the profiled process on ARM and POWER (emulated)
#   ./test.sh --quick    style, and the unit tests with sanitizers
set -uo pipefail
cd "$(dirname "$0")"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL:-$(nproc)}"
export CTEST_OUTPUT_ON_FAILURE=1

passed=0 failed=() started=$SECONDS

step() { # step NAME COMMAND...: runs it, notes how it ended and how long it took
  local name=$1 from=$SECONDS; shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed+=("$name"); fi
  echo "== $name: $((SECONDS - from)) s"
}

build() { # build PRESET [TARGET...]
  local preset=$1 log="build/$1.log"; shift
  mkdir -p build
  { cmake --preset "$preset" -DXSP_TESTS=ON && cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1 ||
    { grep -E 'error|FAILED|warning' "$log" | head -n 40 >&2; tail -n 20 "$log" >&2; return 1; }
}
build_and_test() { # build_and_test PRESET CTEST-OPTIONS...
  build "$1" && ctest --preset "$1" --no-tests=error --progress "${@:2}"
}
format() {
  git ls-files -- '*.cc' '*.h' '*.hpp' '*.c' | xargs clang-format-14 --dry-run -Werror
}
page() { (cd web && npm run --silent format && npm run --silent check && npm run --silent test); }
browser() { (cd tests/browser && node node_modules/@playwright/test/cli.js test); }
# Reports, comparisons, gates, sweeps and folders of whole evaluations, every analysis on them, and tests of what SQL
# alone defines take minutes with sanitizers, most of it in DuckDB, which is not built with them; so do programs that
# import TensorFlow. Only the release's step runs them. It also runs all cases of tests with random ones, of which the
# sanitizers' step has a quarter; and workers on emulated processors, where no sanitizer runs.
gates='^(Diff(Run|Outputs)?Test|CondenseTest|ServeTest|Sweep(File)?Test|Executors/SweepTest|Engines/PredictSystemsTest'
gates+='|RunTensorFlowTest|ProfileFunctionTest)\.'
folders='^Engines/CatalogueTest\.(AddingAgain|AFullDisk|AKilledWriter|AServerThatIsStopped|TwoWriters)'
whole='^(Analyses/Golden|H200/Recorded|Compare|CompareRecorded|CompareRoute|Recorded(Sums|Roof)'
whole+='|[A-Za-z]*/?[A-Za-z]*Numbers|TypicalInSql|Prelude(OfAQuery)?|Columns/ModelAnswerTest)\.'
random='^(Oracle|Encode|DatabaseTest|Seeds/MadePrograms)\.' processors='ProcessorTest\.'
sanitizers() { build_and_test dev -E "$gates|$folders|$whole"; }
release() {
  build_and_test release -L release &&
    ctest --preset release --no-tests=error --progress -R "$whole|$random|$processors"
}
threads() {
  build tsan annotate_test collectors_cupti_test && ctest --preset tsan --no-tests=error --progress -L threads
}

# Tests the parts in the profiled process on ARM and POWER, under an emulator.
other_processors() { build_and_test aarch64 && build_and_test ppc64le; }

step dependencies tools/deps.sh
[ ${#failed[@]} = 0 ] || exit 1
step style python3 tools/tidy.py
step "style of the style's rules" python3 tools/tidy.py --self-test
step format format
step page page
if [ "${1:-}" = --quick ]; then
  step sanitizers build_and_test dev -LE slow
else
  step sanitizers sanitizers
  step release release
  step browser browser
  step threads threads
  step "other processors" other_processors
  step fuzzers build_and_test fuzz
fi

echo
echo "took $((SECONDS - started)) s"
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
echo "$passed passed, ${#failed[@]} failed"
[ ${#failed[@]} = 0 ]
