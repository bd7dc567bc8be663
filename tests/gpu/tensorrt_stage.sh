# The stage `tensorrt` of tests/gpu/run.sh, which sources this file.

# Measures models by TensorRT, in several precisions: layers and kernels in one hierarchy, as with PyTorch.
stage_tensorrt() {
  if ! "$tree/bin/xsp" doctor --format csv 2>/dev/null | grep -q '^framework,tensorrt,available'; then
    line skipped "TensorRT" "xsp doctor --install tensorrt, or set XSP_TENSORRT"; return
  fi
  local name precision file levels options=(--framework tensorrt --device cuda --no-peaks --max-time "$seconds")
  for name in ${XSP_GPU_TENSORRT:-resnet50 bert_base}; do
    [ -e "$models/$name.onnx" ] || check "build $name for TensorRT" "trt_build_$name" "$tree/bin/xsp" models build \
      "$name" -o "$models/$name.onnx"
    for precision in ${XSP_GPU_TENSORRT_PRECISIONS:-tf32 fp32 fp16}; do
      file="$out/$name-trt-$precision.xsp"
      levels=(--levels model,layer,kernel --counters none)
      [ "$precision" != tf32 ] || levels=(--levels all --counters roofline)
      check "profile $name by TensorRT, $precision" "trt_${name}_$precision" timeout -s INT -k 30 $((3 * bound)) \
        "$tree/bin/xsp" profile "$models/$name.onnx" "${options[@]}" "${levels[@]}" --option "precision=$precision" -o "$file"
      tensorrt_invariants "$name $precision" "$file"
    done
    tensorrt_times "$name" "$out/$name-trt-tf32.xsp"
    check "profile $name by TensorRT, as a graph" "trt_graph_$name" "$tree/bin/xsp" profile "$models/$name.onnx" \
      "${options[@]}" --levels model,layer,kernel --counters none --cuda-graph -o "$out/$name-trt-graph.xsp"
    tensorrt_invariants "$name graph" "$out/$name-trt-graph.xsp"
    file="$out/${name/_/-}.pt.xsp"
    [ ! -e "$file" ] || check "PyTorch against TensorRT, $name" "trt_diff_$name" "$tree/bin/xsp" diff \
      "$file" "$out/$name-trt-tf32.xsp"
  done
  # An engine's file is a model, too.
  cp "$(ls -t "${XDG_CACHE_HOME:-$HOME/.cache}"/xsp/tensorrt/resnet50-*.plan | head -n 1)" "$models/resnet50.plan"
  check "profile an engine's file" trt_plan "$tree/bin/xsp" profile "$models/resnet50.plan" "${options[@]}" \
    --levels model,layer,kernel --counters none -o "$out/resnet50-plan.xsp"
  tensorrt_invariants "an engine's file" "$out/resnet50-plan.xsp"
  check "layers by IProfiler" trt_device "$tree/bin/xsp" profile "$models/resnet50.onnx" "${options[@]}" --levels model,layer \
    --option layers=device --counters none -o "$out/resnet50-trt-device.xsp"
  tensorrt_device_layers "$out/resnet50-trt-device.xsp" "$out/resnet50-trt-tf32.xsp"
  check "fp32 results as ONNX Runtime's" trt_outputs "$tree/bin/xsp" diff --run --outputs --table outputs --tolerance 1e-4 \
    "$models/resnet50.onnx" "$models/resnet50.onnx" --framework-a onnxruntime --device-a cpu --framework-b tensorrt \
    --device-b cuda --option-b precision=fp32
}
tensorrt_invariants() { # WHAT FILE
  local verdict
  # TensorRT lets kernels begin before the previous one has ended (programmatic dependent launch).
  verdict=$(invariants "$2" '^executions of a stream') && line ok "invariants $1 by TensorRT" "$(summary "$2")" ||
    line FAILED "invariants $1 by TensorRT" "$verdict"
}
# IProfiler's times of layers hold their kernels, and what its events add to each layer. Both are from the same engine.
tensorrt_times() { # NAME FILE
  local kernels layers count
  kernels=$(value "$2" "SELECT median(ns) FROM (SELECT sum(duration_ns) AS ns FROM span
    WHERE level = 6 AND type = 'kernel' AND iteration >= 0 GROUP BY run_id, iteration)")
  layers=$(value "$2" "SELECT sum(value) FROM site_counter WHERE name = 'iprofiler_ns'")
  count=$(value "$2" "SELECT count(*) FROM site_counter WHERE name = 'iprofiler_ns'")
  if awk -v a="$kernels" -v b="$layers" -v n="$count" 'BEGIN { exit !(b > a && b < a + 6000 * n) }'; then
    line ok "kernels as IProfiler's layers, $1" "$kernels and $layers ns in an inference, $count layers"
  else line FAILED "kernels as IProfiler's layers, $1" "$kernels and $layers ns in an inference, $count layers"; fi
}

# Spans by IProfiler lie in their inference, and have the names and, within 10 %, the sum of its counters.
tensorrt_device_layers() { # FILE REFERENCE
  local spans counters outside
  spans=$(value "$1" "SELECT median(ns) FROM (SELECT sum(duration_ns) AS ns FROM span WHERE level = 3 AND iteration >= 0
    GROUP BY run_id, iteration)")
  counters=$(value "$2" "SELECT sum(value) FROM site_counter WHERE name = 'iprofiler_ns'")
  outside=$(value "$1" "SELECT count(*) FROM span WHERE level = 3 AND iteration >= 0 AND model_id IS NULL")
  if awk -v a="$spans" -v b="$counters" -v o="$outside" 'BEGIN { exit !(o == 0 && a > 0.9 * b && a < 1.1 * b) }'; then
    line ok "spans as IProfiler's counters" "$spans and $counters ns"
  else line FAILED "spans as IProfiler's counters" "$spans and $counters ns, $outside outside"; fi
}
