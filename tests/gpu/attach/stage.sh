# The stage `attach` of tests/gpu/run.sh, which sources it: unchanged programs under `xsp run`. Parts of it:
# XSP_GPU_ATTACH="programs profiler operators inside cost library nccl" (all by default).
attach="$source_dir/tests/gpu/attach"

# attach_program NAME PERCENT SCRIPT...: at least PERCENT of the device's time belongs to a module.
attach_program() {
  local name=$1 least=$2 file="$out/attach_$1.xsp" log="$out/log/attach_$1.txt"; shift 2
  if ! xsp run --leveled=no -o "$file" -- python3 "$@" >"$log" 2>&1; then
    line FAILED "xsp run, $name" "$(tail -n 1 "$log" | cut -c1-150)"
    return
  fi
  local row share verdict
  row=$(xsp query "$file" "$(cat "$attach/attributed.sql")" --format csv | tail -n 1)
  share=${row%%,*}
  if awk -v a="$share" -v b="$least" 'BEGIN { exit !(a + 0 >= b) }'; then line ok "xsp run, $name" "${row#*,}"
  else line FAILED "xsp run, $name" "${row#*,}"; fi
  verdict=$(xsp query "$file" "$(cat "$attach/invariants.sql")" --format csv | awk -F, 'NR > 1 && $2 != 0' | tr '\n' ';')
  if [ -z "$verdict" ]; then line ok "invariants, $name" "all hold"; else line FAILED "invariants, $name" "$verdict"; fi
}

# All at once: they are checked, not timed.
attach_programs() {
  attach_program resnet50 95 "$attach/resnet50.py" --iterations 30 &
  attach_program train 95 "$attach/train.py" &
  attach_program compiled 95 "$attach/compiled.py" &
  attach_program compiled-graph 95 "$attach/compiled.py" reduce-overhead &
  attach_program gpt2 95 "$attach/generate.py" gpt2 &
  attach_program llama 95 "$attach/generate.py" llama &
  attach_program triton 95 "$attach/triton_add.py" &
  attach_program graph 95 "$attach/graph.py" &
  # XLA tries out kernels while it compiles, which belong to no instruction.
  if python3 -c 'import jax' 2>/dev/null; then attach_program jax 0 "$attach/jax_block.py" & fi
  wait
  attach_compilers
}

# attach_named NAME FLAGS SCRIPT...: what a compiler fused belongs to layers that say what they stand for.
attach_named() {
  local name=$1 flags=$2 file="$out/attach_named_$1.xsp" log="$out/log/attach_named_$1.txt" row; shift 2
  if ! XLA_FLAGS=$flags xsp run --leveled=no -o "$file" -- python3 "$@" >"$log" 2>&1; then
    line FAILED "xsp run, layers of $name" "$(tail -n 1 "$log" | cut -c1-150)"
    return
  fi
  row=$(xsp query "$file" "$(cat "$attach/named_layers.sql")" --format csv | tail -n 1)
  if awk -v a="${row%%,*}" 'BEGIN { exit !(a + 0 >= 95) }'; then line ok "xsp run, layers of $name" "${row#*,}"
  else line FAILED "xsp run, layers of $name" "${row#*,}"; fi
}

# With CUDA graphs and without.
attach_compilers() {
  attach_named inductor '' "$attach/compiled.py"
  attach_named inductor-graph '' "$attach/compiled.py" reduce-overhead
  if ! python3 -c 'import jax' 2>/dev/null; then line skipped "xsp run, layers of xla" "python3 has no jax"; return; fi
  attach_named xla-graph '' "$attach/jax_block.py"
  attach_named xla '--xla_gpu_enable_command_buffer=' "$attach/jax_block.py"
}

# A program with a profiler of its own behaves as it would alone.
attach_inside() {
  local alone watched
  alone=$(python3 "$attach/profiler_inside.py" 2>/dev/null)
  watched=$(xsp run --leveled=no -o "$out/attach_inside.xsp" -- \
    python3 "$attach/profiler_inside.py" 2>"$out/log/attach_inside.txt")
  if [ "$alone" = "$watched" ]; then line ok "torch.profiler sees what it did" "$alone events"
  else line FAILED "torch.profiler sees what it did" "alone $alone, under xsp run $watched"; fi
  local said
  said=$(value "$out/attach_inside.xsp" "SELECT value FROM evaluation WHERE key LIKE 'note.%' AND value LIKE '%uses CUPTI%'")
  if [ -n "$said" ]; then line ok "and who has CUPTI is said" "$said"; else line FAILED "and who has CUPTI is said" ""; fi
}

stage_attach() {
  local part
  for part in ${XSP_GPU_ATTACH:-programs profiler operators inside cost library nccl}; do
    case $part in
      programs) attach_programs ;;
      profiler) check "kernels as torch.profiler's" attach_profiler python3 "$attach/against_profiler.py" "$tree/bin/xsp" ;;
      operators) check "operators as torch.profiler's" attach_operators python3 "$attach/against_operators.py" "$tree/bin/xsp" ;;
      inside) attach_inside ;;
      library) check "PyTorch's calls of libraries" attach_library \
        python3 "$attach/library_calls.py" "$tree/bin/xsp" "$out/attach_library" ;;
      nccl) check "NCCL's calls, on two GPUs" attach_nccl python3 "$attach/nccl.py" "$tree/bin/xsp" "$out/attach_nccl" ;;
      cost)
        python3 "$attach/cost.py" "$tree/bin/xsp" --rounds "${XSP_GPU_ROUNDS:-3}" >"$out/log/attach_cost.txt" 2>&1 &&
          line ok "cost of xsp run" "see log/attach_cost.txt" || line FAILED "cost of xsp run" ""
        cat "$out/log/attach_cost.txt" ;;
    esac
  done
}
