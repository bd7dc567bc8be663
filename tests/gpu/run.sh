#!/usr/bin/env bash
# The whole GPU suite, on any machine with an NVIDIA GPU, nvcc and a python3 with PyTorch. Checks invariants, not
# numbers; then measures a fixed set of models. Prints one short table last.
#
#   tests/gpu/run.sh [--tree PREFIX --programs DIR] [--out DIR] [STAGE...]
#
#   --tree    an installed xsp (cmake --install); else the release preset is built and installed into DIR/tree
#   --programs  the build's tests/gpu, which is not installed; contract_test lies in the folder above it
#   --out     where evaluations, logs and the table go: a new folder below the current one by default
#   STAGE     build collector counters conformance models measure batches sweep packages operators devices memory
#             energy xla tensorrt requests truth cost faults attach planted; all of them by default
#
# Without a GPU it says so and ends with 0. Exit status 1: a check failed.
set -uo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
tree='' out='' stages=() programs="$source_dir/build/release/tests/gpu"
while [ $# -gt 0 ]; do
  case $1 in
    --tree) tree=$(realpath "$2"); shift 2 ;;
    --programs) programs=$(realpath "$2"); shift 2 ;;
    --out) mkdir -p "$2"; out=$(realpath "$2"); shift 2 ;;
    -*) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) stages+=("$1"); shift ;;
  esac
done
[ ${#stages[@]} -gt 0 ] || stages=(build collector counters conformance models measure batches sweep packages
  operators devices memory energy xla tensorrt requests truth cost faults attach planted)
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: no NVIDIA GPU on this machine (nvidia-smi -L finds none)"
  exit 0
fi
[ -n "$out" ] || { out="$PWD/xsp-gpu-$(date +%Y%m%d-%H%M%S)"; mkdir -p "$out"; }
# Packages must be built by the compiler whose C++ library is the system's: code of another compiler crashes in them.
export CXX="${CXX:-/usr/bin/g++}"
models="${XSP_GPU_MODELS:-$out/models}"
mkdir -p "$out/log" "$models"
table="$out/table.txt"
seconds="${XSP_GPU_SECONDS:-12}"  # for each evaluation

# line STATUS WHAT DETAIL: prints a line and adds it to the table.
line() { printf '%-7s %-34s %s\n' "$1" "$2" "$3" | tee -a "$table"; }
# check WHAT LOG COMMAND...: its exit status decides; the last line of its output is the detail.
check() {
  local what=$1 log="$out/log/$2.txt"; shift 2
  if "$@" >"$log" 2>&1; then line ok "$what" "$(tail -n 1 "$log" | cut -c1-150)"
  else line FAILED "$what" "$(tail -n 1 "$log" | cut -c1-150)"; fi
}
# Ctrl-C after this many seconds keeps the results so far.
bound="${XSP_GPU_BOUND:-150}"
xsp() { timeout -s INT -k 30 "$bound" "$tree/bin/xsp" "$@"; }
# value FILE SQL: prints the result as one line.
value() { xsp query "$1" "$2" --format csv | tail -n +2 | tr '\n' ' ' | tr -d '"'; }

stage_build() {
  if [ -z "$tree" ]; then
    tree="$out/tree"
    check "build xsp" build bash -c "cd '$source_dir' && tools/deps.sh --build && cmake --preset release -DXSP_TESTS=OFF &&
      cmake --build --preset release && cmake --install build/release --prefix '$tree'"
  fi
  check "build the adapter torch" build_torch "$tree/lib/xsp/adapters/src/build_torch_adapter.sh" "$tree"
  local one
  for one in collect_work known_kernels; do
    check "build $one" "build_$one" nvcc -std=c++17 -O1 -shared -Xcompiler -fPIC -arch=native \
      -o "$out/lib$one.so" "$source_dir/tests/gpu/$one.cu" -lcuda -lcublas -lcublasLt
  done
}

# The installed libraries, and those that the caller's frameworks need.
library_path() { echo "$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; }

stage_collector() {
  check "collector cupti" collect env LD_LIBRARY_PATH="$(library_path)" "$programs/collect" \
    "$tree/lib/xsp/collectors/cupti.so" "$out/libcollect_work.so" "$out/collect.xtrace"
}
stage_counters() {
  check "counters of known kernels" known env LD_LIBRARY_PATH="$(library_path)" "$programs/known" \
    "$tree/lib/xsp/collectors/cupti.so" "$out/libknown_kernels.so" "$out/known.xtrace"
}

# Runs the requirements on every adapter and every collector with the installed ones, on a GPU if they can use one.
stage_conformance() {
  local suite="$programs/../contract_test"
  [ -x "$suite" ] || { line skipped "conformance" "no $suite: build with -DXSP_TESTS=ON"; return; }
  find_xla
  local what
  for what in Adapter Collector; do
    check "conformance, ${what,,}s on CUDA" "conformance_$what" bash -c "set -o pipefail; LD_LIBRARY_PATH='$(library_path)' \
      XSP_TEST_BIN='$tree/bin' XSP_TEST_SOURCE='$source_dir' XSP_TEST_DEVICE=cuda:0 timeout -k 10 $bound \
      '$suite' --gtest_brief=1 --gtest_filter='*${what}Test.*' | grep -v '^\[  SKIPPED'"
  done
}

# Each line has a name, and a recipe of tools/export_torch.py with its options.
recipes() {
  cat <<'R'
resnet50.pt resnet50
resnet50-bf16.pt resnet50 --dtype bf16
mobilenet_v2.pt mobilenet_v2
vit_b_16.pt vit_b_16
bert-base.pt bert-base
gpt2-prefill.pt gpt2-prefill
gpt2-decode.pt gpt2-decode
ssd300_vgg16.pt ssd300_vgg16
fasterrcnn.pt fasterrcnn_resnet50_fpn
resnet50.pt2 resnet50 --device cuda
resnet50-plain.pt2 resnet50 --device cuda --no-kernel-profile
resnet50-bf16.pt2 resnet50 --dtype bf16 --device cuda
bert-base.pt2 bert-base --device cuda
R
}
stage_models() {
  local pids=() name recipe
  while read -r name recipe; do
    [[ -e "$models/$name" || ! $name =~ ${XSP_GPU_RECIPES:-.} ]] && continue
    # shellcheck disable=SC2086
    python3 "$source_dir/tools/export_torch.py" $recipe -o "$models/$name" >"$out/log/export_$name.txt" 2>&1 &
    pids+=("$! $name")
  done < <(recipes)
  local one
  for one in "${pids[@]}"; do
    if wait "${one%% *}"; then line ok "export ${one#* }" ""
    else line FAILED "export ${one#* }" "$(tail -n 1 "$out/log/export_${one#* }.txt" | cut -c1-150)"; fi
  done
}

# invariants FILE [EXCEPT]: checks every invariant of an evaluation, except those that match EXCEPT; prints one line.
invariants() {
  local file=$1 except=${2:-^$} offenders
  offenders=$(xsp query "$file" "$(cat "$source_dir/tests/gpu/invariants.sql")" --format csv |
    awk -F, -v except="$except" '$2 != 0 && $1 !~ except' | tail -n +2) || return 1
  if [ -n "$offenders" ]; then tr '\n' ';' <<<"$offenders"; return 1; fi
  echo "all hold"
}
# profile NAME OUTPUT OPTIONS...: profiles a model, and checks the result.
profile() {
  local model=$1 name=$2; shift 2
  local file="$out/$name.xsp" log="$out/log/$name.txt"
  if ! xsp profile "$models/$model" --framework torch --device cuda -o "$file" "$@" >"$log" 2>&1; then
    line FAILED "profile $name" "$(grep -m1 error "$log" | cut -c1-150)"
    [ -e "$file" ] || return
  fi
  line ok "profile $name" "$(summary "$file")"
  local verdict; verdict=$(invariants "$file") && line ok "invariants $name" "$verdict" ||
    line FAILED "invariants $name" "$verdict"
}
summary() { value "$1" "$(cat "$source_dir/tests/gpu/summary.sql")"; }

stage_measure() {
  local name
  for name in resnet50.pt resnet50-bf16.pt mobilenet_v2.pt vit_b_16.pt bert-base.pt gpt2-prefill.pt \
    gpt2-decode.pt ssd300_vgg16.pt resnet50.pt2 resnet50-bf16.pt2 bert-base.pt2; do
    [ -e "$models/$name" ] || { line skipped "profile $name" "not exported"; continue; }
    profile "$name" "$name" --counters roofline --max-time "$seconds"
  done
  for name in resnet50.pt bert-base.pt mobilenet_v2.pt; do
    [ -e "$models/$name" ] || continue
    profile "$name" "$name-graph" --cuda-graph --max-time "$seconds"
  done
}
stage_batches() {
  profile resnet50.pt resnet50-batches --batch "${XSP_GPU_BATCHES:-1,2,4,8,16,32,64,128,256}" \
    --counters roofline --max-time $((5 * seconds))
}

# Measures the other models over batch sizes, at every level: latencies, kernels, and the sizes that do not fit.
stage_sweep() {
  local name file log levels="${XSP_GPU_SWEEP_LEVELS:-all}" seconds="${XSP_GPU_SWEEP_SECONDS:-120}"
  local bound=$((seconds + 600))  # nine batch sizes, and five processes of each that open the model
  for name in ${XSP_GPU_SWEEP_MODELS:-bert-base vit_b_16 gpt2-prefill gpt2-decode mobilenet_v2 ssd300_vgg16}; do
    [ -e "$models/$name.pt" ] || { line skipped "sweep $name" "not exported"; continue; }
    file="$out/$name-sweep.xsp" log="$out/log/sweep_$name.txt"
    # If a batch size does not fit, its run fails, and the exit status reports that.
    xsp profile "$models/$name.pt" --framework torch --device cuda --levels "$levels" --counters none --no-peaks \
      --batch "${XSP_GPU_BATCHES:-1,2,4,8,16,32,64,128,256}" --max-time "$seconds" -o "$file" >"$log" 2>&1
    [ -e "$file" ] || { line FAILED "sweep $name" "$(grep -m1 error "$log" | cut -c1-150)"; continue; }
    line ok "sweep $name" "$(value "$file" "SELECT string_agg(CASE WHEN r.status = 'ok'
      THEN format('{}: {:.2f} ms {:.0f}/s', r.batch, ns / 1e6, 1e9 * r.batch / ns)
      WHEN reason LIKE '%out of memory%' THEN format('{}: out of memory', r.batch)
      ELSE format('{}: {}', r.batch, r.status) END, '; ' ORDER BY r.batch)
      FROM run r LEFT JOIN (SELECT run_id, median(duration_ns) AS ns FROM span WHERE level = 2 AND iteration >= 0
        GROUP BY run_id) USING (run_id) WHERE r.levels = 'model'")"
    # Fewer than six blocks of each have no interval.
    local least
    least=$(value "$file" "SELECT min(iterations) FROM run WHERE status = 'ok'")
    if [ "$least" -ge 6 ]; then line ok "sweep $name, inferences" "at least $least of each run"
    else line FAILED "sweep $name, inferences" "only $least of a run"; fi
    [ "$levels" = model ] || kernels_of_sweep "$name" "$file"
    # Every failure counts, except for lack of memory.
    local others
    others=$(value "$file" "SELECT string_agg(DISTINCT reason, '; ') FROM run
      WHERE status = 'failed' AND reason NOT LIKE '%out of memory%'")
    [ -z "${others// /}" ] || line FAILED "sweep $name, runs" "${others:0:150}"
  done
}
kernels_of_sweep() { # NAME FILE
  local verdict
  line ok "sweep $1, kernels" "$(summary "$2")"
  verdict=$(invariants "$2") && line ok "sweep $1, invariants" "$verdict" || line FAILED "sweep $1, invariants" "$verdict"
}

# Measures packages: one without the hooks that identify layers; and compares their results with Python's.
stage_packages() {
  if [ -e "$models/resnet50-plain.pt2" ]; then
    profile resnet50-plain.pt2 resnet50-plain --counters none --max-time "$seconds"
    # The package's generated code has no names; torch's observers see its calls of PyTorch.
    local layers
    layers=$(value "$out/resnet50-plain.xsp" "SELECT string_agg(DISTINCT type, ',' ORDER BY type) FROM span
      WHERE level = 3 AND iteration >= 0 AND run_id = (SELECT max(run_id) FROM run WHERE levels LIKE '%kernel%')")
    if [[ $layers == *aoti_package* && $layers != *triton* ]]; then line ok "a package without hooks" "its layers: $layers"
    else line FAILED "a package without hooks" "its layers: ${layers:0:100}"; fi
  else
    line skipped "a package without hooks" "not exported"
  fi
  local name
  for name in resnet50.pt2 resnet50-plain.pt2 bert-base.pt2 resnet50.pt bert-base.pt; do
    [ -e "$models/$name" ] || { line skipped "results of $name" "not exported"; continue; }
    local recipe=${name%%.*}
    check "results of $name as in Python" "eager_$name" timeout -k 10 "$bound" python3 \
      "$source_dir/tests/gpu/against_eager.py" "$tree" "$models/$name" "${recipe%-plain}"
  done
}

# Measures a model that calls operators of a library of its own.
stage_operators() {
  [ -e "$models/fasterrcnn.pt" ] || { line skipped "Faster R-CNN" "not exported"; return; }
  local library libraries=() short=(--framework torch --device cuda --no-peaks --counters none --max-time "$seconds")
  fault "an operator that is missing is said" fault_operator 'needs the operator torchvision::.*--option library' \
    "$tree/bin/xsp" profile "$models/fasterrcnn.pt" "${short[@]}" --levels model -o "$out/f6.xsp"
  # A torchvision that was linked with Python's half of torch needs that first, and Python's own library before it.
  for library in $(python3 "$source_dir/tests/gpu/operator_libraries.py"); do libraries+=(--option "library=$library"); done
  [ ${#libraries[@]} -gt 0 ] || { line skipped "Faster R-CNN" "torchvision has no _C.so here"; return; }
  profile fasterrcnn.pt fasterrcnn --counters none --max-time "$seconds" "${libraries[@]}"
}

# Uses two GPUs in one process: a model that computes on both, and a collector that sees both.
stage_devices() {
  local count
  count=$(nvidia-smi -L | grep -c '^GPU')
  [ "$count" -ge 2 ] || { line skipped "two GPUs in one process" "this machine has $count"; return; }
  check "export a model for two GPUs" export_two python3 "$source_dir/tests/gpu/two_devices.py" "$models/two.pt"
  profile two.pt two --counters none --max-time "$seconds"
  local found
  found=$(value "$out/two.xsp" "SELECT count(DISTINCT device) || ' devices, ' || min(kernels) || ' kernels at least, ' ||
    sum(no_layer) || ' without layer' FROM (SELECT device, count(*) AS kernels, count(*) FILTER (layer_id IS NULL) AS
    no_layer FROM span WHERE level = 6 AND type = 'kernel' AND iteration >= 0 GROUP BY device)")
  case $found in
    "2 devices, 0 "*) line FAILED "kernels of both devices" "$found" ;;
    "2 devices, "*", 0 without layer "*) line ok "kernels of both devices" "$found" ;;
    *) line FAILED "kernels of both devices" "$found" ;;
  esac
}

# The allocator's events are those of three inferences, and have no visible cost for the others.
stage_memory() {
  local file="$out/resnet50.pt.xsp"
  [ -e "$file" ] || profile resnet50.pt resnet50.pt --counters none --max-time "$seconds"
  local inferences
  inferences=$(value "$file" "SELECT string_agg(DISTINCT n, ',') FROM (SELECT count(DISTINCT iteration) AS n FROM span s
    JOIN run r USING (run_id) WHERE s.level = 5 AND s.type = 'memory' AND s.iteration >= 0 AND r.status = 'ok'
    AND coalesce(r.counters, '') = '' GROUP BY run_id)")
  if [ "${inferences// /}" = 3 ]; then line ok "allocations in three inferences" "of each run with the level api"
  else line FAILED "allocations in three inferences" "found in: ${inferences:-none}"; fi
  check "memory over time has rows" memory_rows bash -c "'$tree/bin/xsp' analyze memory_over_time '$file' --format csv |
    awk 'END { print NR - 1, \"events\"; exit NR < 20 }'"
  line ok "latency with and without events" "$(value "$file" "SELECT string_agg(format('{}: {:.0f} us in the three, {:.0f} later',
    levels, three, later), '; ' ORDER BY run_id) FROM (SELECT run_id, levels,
    median(duration_ns) FILTER (s.iteration < 3) / 1e3 AS three, median(duration_ns) FILTER (s.iteration >= 3) / 1e3 AS later
    FROM span s JOIN run r USING (run_id) WHERE s.level = 2 AND s.iteration >= 0 AND r.status = 'ok'
    AND coalesce(r.counters, '') = '' GROUP BY ALL)")"
}

# The energy of layers that are repeated alone adds up to that of the inference, except for effects of the caches.
stage_energy() {
  local one name batch file
  for one in ${XSP_GPU_ENERGY:-resnet50:64 resnet50:1 bert-base:1}; do
    name=${one%:*} batch=${one#*:} file="$out/${one/:/-energy}.xsp"
    [ -e "$models/$name.pt" ] || { line skipped "energy of $name" "not exported"; continue; }
    [ -e "$file" ] || profile "$name.pt" "${one/:/-energy}" --batch "$batch" --levels model,layer,kernel \
      --counters energy,layer_energy --no-peaks --max-time "${XSP_GPU_ENERGY_SECONDS:-15}"
    check "energy of $name's layers, batch $batch" "energy_$one" bash -c "'$tree/bin/xsp' analyze energy_by_layer \
      '$file' --format csv | awk -F, 'NR > 1 { layers = \$12; again = \$13; once = \$14 } END {
      printf \"%d layers %.3f J, the inference repeated %.3f J, as it runs %.3f J\\n\", NR - 1, layers, again, once
      exit NR < 20 || layers < 0.8 * again || layers > 1.2 * again }'"
  done
}

# Finds XLA's plugin for CUDA, if python3 has it.
find_xla() {
  [ -n "${XSP_PJRT_CUDA:-}" ] || XSP_PJRT_CUDA=$(python3 -c "import jax_plugins.xla_cuda13 as p
print(list(p.__path__)[0] + '/xla_cuda_plugin.so')" 2>/dev/null)
  export XSP_PJRT_CUDA
}
# Measures the same models by XLA: layers and kernels in one hierarchy, as with PyTorch; and XLA's own times of the
# layers.
stage_xla() {
  find_xla
  [ -e "$XSP_PJRT_CUDA" ] || { line skipped "XLA" "python3 has no jax-cuda13-pjrt"; return; }
  local name file verdict options=(--device cuda --no-peaks --max-time "$seconds")
  for name in resnet50 bert_base; do
    file="$out/$name-xla.xsp"
    check "build $name for XLA" "xla_build_$name" "$tree/bin/xsp" models build "$name" --format stablehlo -o "$models/$name.mlir"
    check "profile $name by XLA" "xla_$name" "$tree/bin/xsp" profile "$models/$name.mlir" "${options[@]}" --levels all \
      --counters none -o "$file"
    # XLA lets kernels begin before the previous one has ended (programmatic dependent launch).
    verdict=$(invariants "$file" '^executions of a stream') && line ok "invariants $name by XLA" "$(summary "$file")" ||
      line FAILED "invariants $name by XLA" "$verdict"
  done
  check "layers by XLA's profiler" xla_device "$tree/bin/xsp" profile "$models/resnet50.mlir" "${options[@]}" \
    --levels model,layer --option layers=device --counters none -o "$out/resnet50-xla-device.xsp"
  # Compares the kernels' times with XLA's own times of the same instructions, in processes that tuned themselves.
  local kernels layers
  kernels=$(value "$out/resnet50-xla.xsp" "SELECT median(ns) FROM (SELECT sum(duration_ns) AS ns FROM span
    WHERE level = 6 AND type = 'kernel' AND iteration >= 0 GROUP BY run_id, iteration)")
  layers=$(value "$out/resnet50-xla-device.xsp" "SELECT median(ns) FROM (SELECT sum(duration_ns) AS ns FROM span
    WHERE level = 3 AND iteration >= 0 GROUP BY run_id, iteration)")
  if awk -v a="$kernels" -v b="$layers" 'BEGIN { exit !(a > 0.9 * b && a < 1.1 * b) }'; then
    line ok "kernels as XLA's profiler's" "$kernels and $layers ns in an inference"
  else line FAILED "kernels as XLA's profiler's" "$kernels and $layers ns in an inference"; fi
  [ ! -e "$out/resnet50.pt.xsp" ] || check "PyTorch against XLA" xla_diff "$tree/bin/xsp" diff \
    "$out/resnet50.pt.xsp" "$out/resnet50-xla.xsp"
}

stage_truth() {
  local file="$out/resnet50.pt.xsp"
  [ -e "$file" ] || profile resnet50.pt resnet50.pt --counters roofline --max-time "$seconds"
  check "kernel times as torch.profiler's" truth_times python3 "$source_dir/tests/gpu/against_torch_profiler.py" \
    "$tree/bin/xsp" "$file" "$models/resnet50.pt"
  if command -v ncu >/dev/null; then
    # The tensors of this batch do not fit into the caches: which data the caches write back later is random.
    profile resnet50.pt resnet50-b64 --batch 64 --levels model,layer,kernel --counters roofline --max-time 6
    check "counters as Nsight Compute's" truth_counters python3 "$source_dir/tests/gpu/against_ncu.py" \
      "$tree/bin/xsp" "$out/resnet50-b64.xsp" "$models/resnet50.pt" --batch 64
  else
    line skipped "counters as Nsight Compute's" "ncu is not installed"
  fi
}

stage_cost() {
  local folder
  folder=$(python3 -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
  check "build bare_torch" build_bare g++ -std=c++20 -O2 -w "$source_dir/bench/bare_torch.cc" -o "$out/bare_torch" \
    -I"$folder/include" -I"$folder/include/torch/csrc/api/include" -L"$folder/lib" -Wl,--no-as-needed -ltorch_cuda \
    -ltorch_cpu -lc10 -Wl,-rpath,"$folder/lib" -Wl,--allow-shlib-undefined
  # The result is printed beside its budgets, not judged: the cost of a launch depends on the machine.
  python3 "$source_dir/bench/against_bare.py" --build "$tree" --bare "$out/bare_torch {model} cuda 1,3,224,224" \
    --framework torch --device cuda --levels model --levels model,layer --levels model,layer,api --levels model,api,kernel \
    --levels model,layer,api,kernel --rounds "${XSP_GPU_ROUNDS:-5}" --seconds 3 "$models/resnet50.pt" \
    >"$out/log/cost.txt" 2>&1 && line ok "cost against a bare program" "see log/cost.txt" ||
    line FAILED "cost against a bare program" "$(tail -n 1 "$out/log/cost.txt")"
  cat "$out/log/cost.txt"
}

# fault WHAT LOG TEXT COMMAND...: the command may fail or not, but must print TEXT in one line.
fault() {
  local what=$1 log="$out/log/$2.txt" text=$3; shift 3
  timeout 60 "$@" >"$log" 2>&1
  if grep -E "$text" "$log" >/dev/null; then line ok "$what" "$(grep -m1 -E "$text" "$log" | cut -c1-150)"
  else line FAILED "$what" "said instead: $(tail -n 1 "$log" | cut -c1-120)"; fi
}
# The batch size whose kernel never ends is given up; the other one is kept.
stage_faults_endless_kernel() {
  local folder; folder=$(python3 -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
  check "build an endless kernel" build_endless g++ -std=c++20 -O1 -w -shared -fPIC "$source_dir/tests/gpu/endless.cc" \
    -o "$out/libendless.so" -DNDEBUG -I"$folder/include" -I"$folder/include/torch/csrc/api/include" -I/usr/local/cuda/include \
    -L"$folder/lib" -ltorch_cpu -lc10 -L/usr/local/cuda/lib64/stubs -lcuda -Wl,--allow-shlib-undefined
  cat >"$out/endless_kernel.py" <<'P'
import sys
import torch

torch.ops.load_library(sys.argv[1])


class Endless(torch.nn.Module):
    def forward(self, x):
        return torch.ops.xsp_test.endless(torch.relu(x))


torch.jit.trace(Endless().cuda(), torch.ones(1, 64, device="cuda")).save(
    sys.argv[2], _extra_files={"signature": "input\tx\tfloat32\tbatch,64\n"})
P
  check "export it" export_endless python3 "$out/endless_kernel.py" "$out/libendless.so" "$models/endless_kernel.pt"
  fault "a kernel that never ends is given up" fault_endless_kernel 'no answer|did not answer|within' "$tree/bin/xsp" profile \
    "$models/endless_kernel.pt" "$@" --device cuda --levels model --batch 1,2 --timeout 8 \
    --option "library=$out/libendless.so" -o "$out/f7.xsp"
  check "what was measured before it is kept" fault_endless_kept bash -c "'$tree/bin/xsp' query '$out/f7.xsp' \
    \"SELECT string_agg(batch || ' ' || status, ', ' ORDER BY run_id) FROM run\" --format csv | tail -n 1 | grep '1 ok'"
}
stage_faults() {
  local short=(--framework torch --counters none --no-peaks --max-time 3)
  fault "no GPU is said" fault_no_gpu 'no GPU|no CUDA|not available' env CUDA_VISIBLE_DEVICES= \
    "$tree/bin/xsp" profile "$models/resnet50.pt" "${short[@]}" --device cuda -o "$out/f1.xsp"
  fault "no CUPTI is said" fault_no_cupti 'not measured: kernel: .*CUPTI' env XSP_CUPTI=/nowhere/libcupti.so \
    "$tree/bin/xsp" profile "$models/resnet50.pt" "${short[@]}" --levels all --device cuda -o "$out/f2.xsp"
  fault "out of memory costs its batch" fault_memory 'out of memory' "$tree/bin/xsp" profile \
    "$models/resnet50.pt" "${short[@]}" --levels model --batch 1,16384 --device cuda -o "$out/f3.xsp"
  check "the other batch is kept" fault_kept bash -c "'$tree/bin/xsp' query '$out/f3.xsp' \
    \"SELECT count(*) FROM run WHERE status = 'ok' AND batch = 1\" --format csv | tail -n 1 | grep -x 1"
  cat >"$out/endless.py" <<'P'
import sys
import torch


@torch.jit.script
def spin(x):
    while bool((x == x).all()):
        x = x * 1.0
    return x


class Endless(torch.nn.Module):
    def forward(self, x):
        return spin(x)


torch.jit.script(Endless()).save(sys.argv[1], _extra_files={"signature": "input\tinput\tfloat32\t4\n"})
P
  python3 "$out/endless.py" "$models/endless.pt"
  fault "a model that never ends is given up" fault_endless 'no answer|gave up|given up|did not answer|within' \
    "$tree/bin/xsp" profile "$models/endless.pt" "${short[@]}" --device cuda --levels model --timeout 8 -o "$out/f4.xsp"
  stage_faults_endless_kernel "${short[@]}"
  check "build a driver that reserves counters" build_reserved gcc -shared -fPIC -o "$out/libreserved.so" \
    "$source_dir/tests/gpu/reserved.c" -ldl
  fault "counters that are not permitted are said" fault_reserved 'not permitted: the driver reserves' env \
    LD_PRELOAD="$out/libreserved.so" "$tree/bin/xsp" profile "$models/resnet50.pt" --framework torch --device cuda \
    --counters roofline --levels model,layer --no-peaks --max-time 3 -o "$out/f8.xsp"
  check "everything else is measured" fault_reserved_kept bash -c "'$tree/bin/xsp' query '$out/f8.xsp' \
    \"SELECT count(*) FROM run WHERE status = 'ok' AND iterations > 0\" --format csv | tail -n 1 | grep -E '^[1-9]'"
  check "build a client that takes CUPTI" build_taken nvcc -shared -Xcompiler -fPIC -o "$out/libtaken.so" \
    "$source_dir/tests/gpu/taken.cu" -I/usr/local/cuda/extras/CUPTI/include -L/usr/local/cuda/extras/CUPTI/lib64 \
    -L/usr/local/cuda/targets/x86_64-linux/lib -lcupti
  fault "CUPTI taken is said" fault_taken 'CUPTI.*(subscription|has it|another)' env \
    CUDA_INJECTION64_PATH="$out/libtaken.so" "$tree/bin/xsp" profile "$models/resnet50.pt" "${short[@]}" \
    --levels all --device cuda -o "$out/f5.xsp"
}

# Programs with one planted cause each: checks that the first finding names it, and that its bound is correct.
stage_planted() {
  # shellcheck disable=SC2086
  check "planted programs" planted timeout -k 30 "${XSP_GPU_PLANTED_BOUND:-3600}" python3 \
    "$source_dir/tests/planted/score.py" --device gpu --installed "$tree" --python "$(command -v python3)" \
    --keep "$out/planted" --gate-twins ${XSP_GPU_PLANTED:---repeats 1 --seconds 4}
  cat "$out/log/planted.txt"
}

# shellcheck source=tests/gpu/requests_stage.sh
source "$source_dir/tests/gpu/requests_stage.sh"
# shellcheck source=tests/gpu/tensorrt_stage.sh
source "$source_dir/tests/gpu/tensorrt_stage.sh"
# shellcheck source=tests/gpu/attach/stage.sh
source "$source_dir/tests/gpu/attach/stage.sh"
for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "error: $stage: not a stage: see $0 --help" >&2; exit 2; }
  "stage_$stage"
done
echo
cat "$table"
echo "$(grep -c '^ok' "$table") passed, $(grep -c '^FAILED' "$table") failed, $(grep -c '^skipped' "$table") skipped"
! grep -q '^FAILED' "$table"
