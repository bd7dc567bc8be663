# The stage `attach` of tests/gpu/run.sh, which sources it: unchanged programs under `xsp run`. Parts of it:
# XSP_GPU_ATTACH="programs compilers profiler operators shapes inside bounds cost library nccl" (all by default).
attach="$source_dir/tests/gpu/attach"

# attach_program NAME PERCENT SCRIPT...: checks that at least PERCENT of the device's time belongs to a module.
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

# The programs run at the same time, because they are checked, not timed.
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
}

# attach_named NAME FLAGS SCRIPT...: checks that fused work belongs to layers that name what they stand for.
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

# Runs compilers with CUDA graphs and without.
attach_compilers() {
  attach_named inductor '' "$attach/compiled.py"
  attach_named inductor-graph '' "$attach/compiled.py" reduce-overhead
  if ! python3 -c 'import jax' 2>/dev/null; then line skipped "xsp run, layers of xla" "python3 has no jax"; return; fi
  attach_named xla-graph '' "$attach/jax_block.py"
  attach_named xla '--xla_gpu_enable_command_buffer=' "$attach/jax_block.py"
}

# Checks ResNet-50's 4.09 G multiply-adds, and the flops of its normalisations, sums and pools; and the roofline of its
# convolutions.
attach_shapes() {
  local file="$out/attach_shapes.xsp" log="$out/log/attach_shapes.txt" row
  if ! xsp run -o "$file" -- python3 "$attach/resnet50.py" --iterations 400 >"$log" 2>&1; then
    line FAILED "flops of xsp run" "$(tail -n 1 "$log" | cut -c1-150)"
    return
  fi
  row=$( { xsp analyze layer_flops "$file" --format json; xsp analyze layer_roofline "$file" --format json; } 2>>"$log" |
    python3 -c '
import json, sys
decoder, text = json.JSONDecoder(), sys.stdin.read()
layers, end = decoder.raw_decode(text)
roofs, _ = decoder.raw_decode(text[end:].lstrip())
flops = sum(row["flops"] or 0 for row in layers)
products = sum(row["flops"] or 0 for row in layers if row["type"] in ("aten::conv2d", "aten::linear"))
unknown = sum(1 for row in layers if row["unknown"])
attained = [row for row in roofs if row["type"] == "aten::conv2d" and (row["attained_flops_per_s"] or 0) > 0]
good = products == 8178368512 and abs(flops / 8206216192 - 1) < 1e-3 and unknown == 0 and len(attained) == 53
print(good, f"{products / 2e9:.3f} G multiply-adds, {flops / 1e9:.3f} Gflop, {unknown} unknown layers,",
      f"{len(attained)} convolutions under the roof")' 2>>"$log")
  if [ "${row%% *}" = True ]; then line ok "flops of xsp run" "${row#* }"; else line FAILED "flops of xsp run" "${row#* }"; fi
}

# A program with a profiler of its own behaves as it does alone.
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

# At the limit, kernels are given up first, between two steps; everything recorded before is complete.
attach_limit() {
  local file="$out/attach_limit.xsp" said row
  xsp run --leveled=no --max-size 3MB -o "$file" -- python3 "$attach/resnet50.py" --iterations 400 \
    >"$out/log/attach_limit.txt" 2>&1 || true
  said=$(value "$file" "SELECT value FROM evaluation WHERE key = 'note.size' AND value LIKE '%kernel from %'")
  # No span contains the memory that the program allocates before its first step. A stack may be deeper than is kept.
  row=$(xsp query "$file" "SELECT (SELECT count(*) FROM span WHERE level = 6) > 0
    AND (SELECT sum(value) FROM audit_fact WHERE name = 'executions_unmatched') = 0
    AND (SELECT count(*) FROM span WHERE level = 6 AND parent_id IS NULL) = 0
    AND (SELECT count(*) FROM span s JOIN run r USING (run_id) WHERE s.type = 'step' AND r.levels NOT LIKE '%kernel%') > 0
    AND coalesce((SELECT sum(count) FROM loss WHERE source <> 'stacks'), 0) = 0 AS holds" --format csv | tail -n 1)
  if [ -n "$said" ] && [ "$row" = true ]; then line ok "a size limit gives up kernels" "$said"
  else line FAILED "a size limit gives up kernels" "$row: $said"; fi
}

# A process with CUDA that outlives the command completes its trace, and continues.
attach_survivor() {
  local file="$out/attach_survivor.xsp" log="$out/log/attach_survivor.txt" row
  rm -f "$log"
  # shellcheck disable=SC2016
  xsp run --leveled=no -o "$file" -- sh -c 'python3 -u "$1" --iterations 4000 >"$2" 2>&1 & sleep 20' \
    sh "$attach/resnet50.py" "$log" >"$out/log/attach_survivor_xsp.txt" 2>&1 || true
  row=$(xsp query "$file" "SELECT (SELECT count(*) FROM span WHERE level = 6) > 0
    AND (SELECT min(value) FROM audit_fact WHERE name = 'trace_complete') = 1
    AND EXISTS (SELECT 1 FROM evaluation WHERE key = 'note.processes') AS holds" --format csv | tail -n 1)
  local tries=0
  while [ ! -s "$log" ] && [ $((tries += 1)) -lt 120 ]; do sleep 1; done
  if [ "$row" = true ] && tail -n 1 "$log" | grep -Eq '^[0-9.]+' && ! grep -q 'xsp:' "$log"; then
    line ok "a process outlives the command" "$(tail -n 1 "$log" | cut -c1-80)"
  else line FAILED "a process outlives the command" "$row: $(tail -n 1 "$log" | cut -c1-150)"; fi
}

stage_attach() {
  local part
  for part in ${XSP_GPU_ATTACH:-programs compilers profiler operators shapes inside bounds cost library nccl}; do
    case $part in
      programs) attach_programs ;;
      compilers) attach_compilers ;;
      profiler) check "kernels as torch.profiler's" attach_profiler python3 "$attach/against_profiler.py" "$tree/bin/xsp" ;;
      operators) check "operators as torch.profiler's" attach_operators python3 "$attach/against_operators.py" "$tree/bin/xsp" ;;
      shapes) attach_shapes ;;
      inside) attach_inside ;;
      bounds) attach_limit; attach_survivor ;;
      library) check "PyTorch's calls of libraries" attach_library \
        python3 "$attach/library_calls.py" "$tree/bin/xsp" "$out/attach_library" ;;
      nccl) check "NCCL's calls, on two GPUs" attach_nccl python3 "$attach/nccl.py" "$tree/bin/xsp" "$out/attach_nccl" ;;
      cost)
        local one calls log
        for one in "30 resnet50.py" "5 generate.py gpt2" "30 eager.py gpt" "20 eager.py gpt-training" "30 eager.py unet"; do
          calls=${one%% *} one=${one#* } log="$out/log/attach_cost_${one//[. ]/_}.txt"
          python3 "$attach/cost.py" "$tree/bin/xsp" --program "$one" --calls "$calls" \
            --rounds "${XSP_GPU_TURNS:-20}" >"$log" 2>&1 &&
            line ok "cost of xsp run, $one" "see ${log#"$out/"}" || line FAILED "cost of xsp run, $one" ""
          cat "$log"
        done ;;
    esac
  done
}
