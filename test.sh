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
# A test takes three of these places, and one that mostly waits takes one (cmake/modules.cmake).
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL:-$((4 * $(nproc)))}"
export CTEST_OUTPUT_ON_FAILURE=1

passed=0 failed=() started=$SECONDS

step() { # step NAME COMMAND...: runs it, notes how it ended and how long it took
  local name=$1 from=$SECONDS; shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed+=("$name"); fi
  echo "== $name: $((SECONDS - from)) s"
}

# A step that mostly waits runs beside others. Its output is kept apart, and printed when the step is waited for.
beside= beside_name= beside_output=$(mktemp)
trap 'rm -f "$beside_output"; kill $(jobs -p) 2>/dev/null' EXIT
begin_beside() { # begin_beside NAME COMMAND...
  beside_name=$1; shift
  { from=$SECONDS; "$@"; ended=$?; echo "== $beside_name: $((SECONDS - from)) s beside others"; exit $ended; } \
    >"$beside_output" 2>&1 &
  beside=$!
}
end_beside() {
  wait "$beside" && passed=$((passed + 1)) || failed+=("$beside_name")
  echo "== $beside_name"
  cat "$beside_output"
}

build() { # build PRESET [TARGET...]
  local preset=$1 log="build/$1.log" options=(-DXSP_TESTS=ON -DXSP_GROUPED_TESTS=ON); shift
  mkdir -p build
  # These trees group their sources, which compiles them sooner. The others build all but the tests one by one: users
  # measure the release, and clang builds the fuzzers.
  case $preset in dev | aarch64 | ppc64le) options+=(-DXSP_GROUPED=ON) ;; esac
  { cmake --preset "$preset" "${options[@]}" && cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1 ||
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
whole+='|[A-Za-z]*/?[A-Za-z]*Numbers|TypicalInSql|Prelude(OfAQuery)?|Columns/ModelAnswerTest'
whole+='|RatesTest|DeviceTimes|Causes|Roof)\.'
random='^(Oracle|Encode|DatabaseTest|Seeds/MadePrograms)\.' processors='ProcessorTest\.'
sanitizers() { build_and_test dev -E "$gates|$folders|$whole"; }
# Runs both kinds in one call, so that no processor waits for the last test of the first.
release() {
  build release || return
  local labelled named
  labelled=$(numbers_of release -L release) && named=$(numbers_of release -R "$whole|$random|$processors") &&
    ctest --preset release --no-tests=error --progress -I "0,0,0,$labelled,$named"
}
numbers_of() { # numbers_of PRESET CTEST-OPTIONS...: the numbers of these tests, by commas; fails if there are none
  ctest --preset "$1" -N "${@:2}" | sed -nE 's/^ +Test +#([0-9]+): .*/\1/p' | paste -sd, | grep . ||
    { echo "ctest ${*:2}: no tests" >&2; return 1; }
}
threads() {
  build tsan annotate_test collectors_cupti_test && ctest --preset tsan --no-tests=error --progress -L threads
}

# Builds what later steps test, on processors that the tests of the sanitizers leave idle. The steps themselves build
# once more, and tell what fails.
build_ahead() {
  local preset
  renice -n 19 "$BASHPID"
  for preset in release aarch64 ppc64le fuzz; do build "$preset"; done
  build tsan annotate_test collectors_cupti_test
  build_demo
} >/dev/null 2>&1

# Builds what a new user does: with sources compiled in groups, and less optimised.
build_demo() {
  mkdir -p build
  { cmake --preset demo && cmake --build --preset demo; } >build/demo.log 2>&1 || { tail -n 20 build/demo.log >&2; return 1; }
}
demo() {
  build_demo && tests/integration/same_program.sh build/demo/bin/xsp build/release/bin/xsp \
    build/release/tests/data/h200_resnet50.xsp
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
  build_ahead &
  ahead=$!
  step sanitizers sanitizers
  wait "$ahead"  # tests of the release measure, some of them with nothing beside them
  step release release
  step demo demo
  begin_beside browser browser
  step threads threads
  step "other processors" other_processors
  step fuzzers build_and_test fuzz
  end_beside
fi

echo
echo "took $((SECONDS - started)) s"
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
echo "$passed passed, ${#failed[@]} failed"
[ ${#failed[@]} = 0 ]
