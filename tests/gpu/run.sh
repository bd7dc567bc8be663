#!/usr/bin/env bash
# The whole GPU suite, on any machine with an NVIDIA GPU, nvcc and a python3 with PyTorch. Checks invariants,
# not numbers; then measures a fixed set of models. Prints one short table last.
#
#   tests/gpu/run.sh [--tree PREFIX --programs DIR] [--out DIR] [STAGE...]
#
#   --tree    an installed xsp (cmake --install); else the release preset is built and installed into DIR/tree
#   --programs  the build's tests/gpu, which is not installed
#   --out     where evaluations, logs and the table go: a new folder below the current one by default
#   STAGE     build collector counters models measure batches truth cost faults; all of them by default
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
    -*) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) stages+=("$1"); shift ;;
  esac
done
[ ${#stages[@]} -gt 0 ] || stages=(build collector counters models measure batches truth cost faults)
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: no NVIDIA GPU on this machine (nvidia-smi -L finds none)"
  exit 0
fi
[ -n "$out" ] || { out="$PWD/xsp-gpu-$(date +%Y%m%d-%H%M%S)"; mkdir -p "$out"; }
# Packages must be built by the compiler whose C++ library is the system's: another one crashes in them.
export CXX="${CXX:-/usr/bin/g++}"
models="${XSP_GPU_MODELS:-$out/models}"
mkdir -p "$out/log" "$models"
table="$out/table.txt"
seconds="${XSP_GPU_SECONDS:-12}"  # that each evaluation may measure

# line STATUS WHAT DETAIL
line() { printf '%-7s %-34s %s\n' "$1" "$2" "$3" | tee -a "$table"; }
# check WHAT LOG COMMAND...: its exit status decides; the last line of its output is the detail.
check() {
  local what=$1 log="$out/log/$2.txt"; shift 2
  if "$@" >"$log" 2>&1; then line ok "$what" "$(tail -n 1 "$log" | cut -c1-150)"
  else line FAILED "$what" "$(tail -n 1 "$log" | cut -c1-150)"; fi
}
xsp() { "$tree/bin/xsp" "$@"; }

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

stage_collector() {
  check "collector cupti" collect env LD_LIBRARY_PATH="$tree/lib" "$programs/collect" \
    "$tree/lib/xsp/collectors/cupti.so" "$out/libcollect_work.so" "$out/collect.xtrace"
}
stage_counters() {
  check "counters of known kernels" known env LD_LIBRARY_PATH="$tree/lib" "$programs/known" \
    "$tree/lib/xsp/collectors/cupti.so" "$out/libknown_kernels.so" "$out/known.xtrace"
}

# name: recipe of tools/export_torch.py and its options
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
resnet50.pt2 resnet50 --device cuda
resnet50-bf16.pt2 resnet50 --dtype bf16 --device cuda
bert-base.pt2 bert-base --device cuda
R
}
stage_models() {
  local pids=() name recipe
  while read -r name recipe; do
    [ -e "$models/$name" ] && continue
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

# Every invariant of an evaluation, as one line.
invariants() {
  local file=$1 offenders
  offenders=$(xsp query "$file" "$(cat "$source_dir/tests/gpu/invariants.sql")" --format csv | awk -F, '$2 != 0' |
    tail -n +2) || return 1
  if [ -n "$offenders" ]; then tr '\n' ';' <<<"$offenders"; return 1; fi
  echo "all hold"
}
# profile NAME OUTPUT OPTIONS...
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
summary() {
  xsp query "$1" "$(cat "$source_dir/tests/gpu/summary.sql")" --format csv | tail -n +2 | tr '\n' ' ' | tr -d '"'
}

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

stage_truth() {
  local file="$out/resnet50.pt.xsp"
  [ -e "$file" ] || profile resnet50.pt resnet50.pt --counters roofline --max-time "$seconds"
  check "kernel times as torch.profiler's" truth_times python3 "$source_dir/tests/gpu/against_torch_profiler.py" \
    "$tree/bin/xsp" "$file" "$models/resnet50.pt"
  if command -v ncu >/dev/null; then
    # A batch whose tensors do not fit into the caches: what these write back later is a matter of chance.
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
  # Printed beside its budgets, not judged: how much a launch costs depends on the machine.
  python3 "$source_dir/bench/against_bare.py" --build "$tree" --bare "$out/bare_torch {model} cuda 1,3,224,224" \
    --framework torch --device cuda --levels model --levels model,layer --levels model,api,kernel \
    --levels model,layer,api,kernel --rounds "${XSP_GPU_ROUNDS:-5}" --seconds 3 "$models/resnet50.pt" \
    >"$out/log/cost.txt" 2>&1 && line ok "cost against a bare program" "see log/cost.txt" ||
    line FAILED "cost against a bare program" "$(tail -n 1 "$out/log/cost.txt")"
  cat "$out/log/cost.txt"
}

# fault WHAT LOG TEXT COMMAND...: the command fails, or not, but says TEXT in one line.
fault() {
  local what=$1 log="$out/log/$2.txt" text=$3; shift 3
  timeout 60 "$@" >"$log" 2>&1
  if grep -E "$text" "$log" >/dev/null; then line ok "$what" "$(grep -m1 -E "$text" "$log" | cut -c1-150)"
  else line FAILED "$what" "said instead: $(tail -n 1 "$log" | cut -c1-120)"; fi
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
    "$tree/bin/xsp" profile "$models/endless.pt" "${short[@]}" --device cuda --timeout 8 -o "$out/f4.xsp"
  check "build a client that takes CUPTI" build_taken nvcc -shared -Xcompiler -fPIC -o "$out/libtaken.so" \
    "$source_dir/tests/gpu/taken.cu" -I/usr/local/cuda/extras/CUPTI/include -L/usr/local/cuda/extras/CUPTI/lib64 \
    -L/usr/local/cuda/targets/x86_64-linux/lib -lcupti
  fault "CUPTI taken is said" fault_taken 'CUPTI.*(subscription|has it|another)' env \
    CUDA_INJECTION64_PATH="$out/libtaken.so" "$tree/bin/xsp" profile "$models/resnet50.pt" "${short[@]}" \
    --levels all --device cuda -o "$out/f5.xsp"
}

for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "error: $stage: not a stage: see $0 --help" >&2; exit 2; }
  "stage_$stage"
done
echo
cat "$table"
echo "$(grep -c '^ok' "$table") passed, $(grep -c '^FAILED' "$table") failed, $(grep -c '^skipped' "$table") skipped"
! grep -q '^FAILED' "$table"
