-- The roof that applies: the pipe of a GPU on which the work ran. It comes from the counters, else from the kernels'
-- names, the layers' types and the framework's settings. If these do not give one pipe, there are two, and the truth
-- lies between them.

-- ---- Kernels by their names ------------------------------------------------------------------------------

-- Returns whether a kernel multiplies matrices; NULL: its name does not tell. Kernels that prepare a product or collect
-- its results do not: changes of layout, sums of partial results, transforms, a bias that is added afterwards. Names
-- are in lower case; `label` is that of kernel_label.
CREATE OR REPLACE TEMP MACRO multiplies_matrices(name, label) AS CASE
  WHEN regexp_matches(label, 'op_(generic_)?tensor_kernel|nchwtonhwc|nhwctonchw|nchw2nhwc|'
      'split_?k_?reduc|offsets?_?kernel|gemm_?pointers|im2col|'
      'col2im|vol2col|wino\w*(tile|data|filter|output)|flash\w*(combine|dot_do|convert)|nccl|memset|memcpy') THEN false
  WHEN regexp_matches(name, 'gemm|gemv|xmma|tensorop|wgmma|gmma|[ihdq]mma|nvjet|flash_|fmha|fprop|dgrad|wgrad|'
      '[sh]cudnn|convolve|wino|sdpa|'
      '[shdi](884|1688|8816|16816|16832|16864|161616)|conv[123]d|conv_depthwise|dot_kernel|'
      'triton_tem') THEN true
  WHEN regexp_matches(label, '^at::native|triton_(poi|per|red|for)|elementwise|reduc|_?norm|bn_[fb]w|softmax|pool|copy|'
      'transpose|permute|concat|gather|scatter|embedding|dropout|fill|upsample|sort|scan|foreach|multi_tensor|'
      '(loop|input|concatenate)_\w*fusion') THEN false
  WHEN regexp_matches(label, 'conv|matmul|_mm\b|bmm|_dot|attention') THEN true END;

-- Returns whether a kernel computes on no tensor core, whatever its types.
CREATE OR REPLACE TEMP MACRO is_plain_kernel(name) AS
  regexp_matches(name, 'ffma|hfma|dfma|simt|[^a-z0-9]sgemm|^sgemm|convolve_sgemm|hgemm|scudnn|hcudnn|gemv|gemmsn|'
    'gemmk1|wino|fft|depthwise|dot_kernel|grouped_direct|alg\d_engine|dgrad_engine|c1_k1|int8x4|dp4a');
CREATE OR REPLACE TEMP MACRO is_tensor_kernel(name) AS
  regexp_matches(name, 'tensor|xmma|gmma|_mma|[ihdq]mma|nvjet|flash|fmha|sdpa|cudnn|'
    '[shdi](884|1688|8816|16816|16832|16864|161616)');
-- Returns the pipe in the name of a kernel that multiplies matrices, in lower case; NULL: the name has none. The
-- letters of nvjet are the types of the operands: d, s, h, t (bf16), q and r (8 bits). Volta and Turing have no TF32.
-- On later GPUs s1688 is TF32, if no type stands beside it.
CREATE OR REPLACE TEMP MACRO pipe_in_name(name, arithmetic) AS CASE
  WHEN regexp_matches(name, 'e4m3|e5m2|fp8|qg?mma|nvjet_(sm\d+_)?[qr]') THEN 'fp8_tensor'
  WHEN is_plain_kernel(name) THEN CASE
    WHEN regexp_matches(name, 'int8|dp4a') THEN 'int8' WHEN regexp_matches(name, 'double|f64|dgemm|dfma') THEN 'fp64'
    WHEN regexp_matches(name, 'hfma|hgemm|hcudnn') THEN 'fp16'
    WHEN arithmetic NOT IN ('fp16', 'bf16') OR regexp_matches(name, 'ffma|sgemm|scudnn') THEN 'fp32' END
  WHEN regexp_matches(name, 'imma|i(8816|16832|16864)|i8i8|s8s8|_s8_|int8') THEN 'int8_tensor'
  WHEN regexp_matches(name, 'dmma|d(884|1688|16816)|nvjet_(sm\d+_)?d|f64\w*tensor\d') THEN 'fp64_tensor'
  WHEN NOT is_tensor_kernel(name) THEN NULL
  WHEN regexp_matches(name, 'bf16|bfloat16|nvjet_(sm\d+_)?t') THEN 'bf16_tensor'
  -- PyTorch's attention in float32 multiplies in TF32, three times for each product, whatever other settings allow.
  WHEN regexp_matches(name, 'tf32|fmha_cutlass[fb]_f32\w*_sm[89]') THEN 'tf32_tensor'
  WHEN regexp_matches(name, 'fp16|f16|half|h(884|1688|16816|161616)|nvjet_(sm\d+_)?h') THEN 'fp16_tensor'
  WHEN regexp_matches(name, 's884|(volta|turing|sm7\d|cutlass_7\d).*s1688') THEN 'fp16_tensor'
  WHEN regexp_matches(name, 's1688|nvjet_(sm\d+_)?s|xmma\w*f32f32\w*tensor16x8x8') THEN 'tf32_tensor'
  WHEN regexp_matches(name, 's16816|s161616|flash') OR arithmetic IN ('fp16', 'bf16') THEN
    CASE arithmetic WHEN 'bf16' THEN 'bf16_tensor' ELSE 'fp16_tensor' END
  WHEN arithmetic = 'fp32' AND regexp_matches(name, 'tensorop|wgmma') THEN 'tf32_tensor' END;

-- ---- The pipes of kernels and layers -----------------------------------------------------------------------

-- Return the slowest and the fastest pipe for arithmetic of a kind (arithmetic_of), outside of matrix products and in
-- them. `tf32` tells whether 32-bit products may run in TF32; NULL: not known.
CREATE OR REPLACE TEMP MACRO plain_pipes(arithmetic) AS CASE
  WHEN arithmetic IN ('fp16', 'bf16') THEN ['fp32', 'fp16'] ELSE [arithmetic, arithmetic] END;
CREATE OR REPLACE TEMP MACRO matrix_pipes(arithmetic, tf32) AS CASE
  WHEN arithmetic IN ('fp16', 'bf16') THEN ['fp32', arithmetic || '_tensor']
  WHEN arithmetic = 'fp32' THEN ['fp32', CASE WHEN tf32 IS NOT DISTINCT FROM false THEN 'fp32' ELSE 'tf32_tensor' END]
  WHEN arithmetic IN ('int8', 'fp64') THEN [arithmetic, arithmetic || '_tensor']
  ELSE [arithmetic, arithmetic] END;
-- A kernel's name and the layer that launched it give the type of its arithmetic, and whether it consists of matrix
-- products (NULL: not known).
CREATE OR REPLACE TEMP MACRO kernel_pipes(name, arithmetic, is_matrix, tf32) AS list_transform([lower(name)],
  lambda once: list_transform([pipe_in_name(once, arithmetic)], lambda pipe: CASE
    WHEN NOT coalesce(multiplies_matrices(once, lower(kernel_label(name))), is_matrix, true)
      THEN plain_pipes(arithmetic)
    WHEN pipe IS NOT NULL THEN [pipe, pipe]
    WHEN is_plain_kernel(once) THEN plain_pipes(arithmetic)
    ELSE matrix_pipes(arithmetic, tf32) END)[1])[1];

-- Returns 2 if a kernel multiplies matrices, 0 if it does not and serves those of its layer that do, and 1 if neither
-- is known. `pipe` is that of its counters, or NULL.
CREATE OR REPLACE TEMP MACRO kernel_work(name, pipe) AS CASE
  WHEN pipe LIKE '%tensor' THEN 2
  ELSE coalesce(2 * CAST(multiplies_matrices(lower(name), lower(kernel_label(name))) AS INTEGER), 1) END;

-- Returns whether TF32 may be used for convolutions, or for other products: not on GPUs before Ampere, and not if the
-- framework's settings forbid it. NULL: not known.
CREATE OR REPLACE TEMP MACRO may_use_tf32(device, is_of_cudnn) AS CASE
  WHEN (SELECT try_cast(value AS DOUBLE) FROM evaluation
        WHERE key = concat('gpu.', device_number(device), '.compute_capability')) < 8 THEN false
  ELSE (SELECT try_cast(value AS BOOLEAN) FROM evaluation
        WHERE key = CASE WHEN is_of_cudnn THEN 'setting.cudnn_tf32' ELSE 'setting.matmul_tf32' END) END;

-- Returns the ceiling of each pipe of the devices of some runs: its own, or its replacement if that is not known.
CREATE OR REPLACE TEMP MACRO pipe_ceilings(run_ids) AS TABLE
  SELECT run_id, pipe, coalesce(max(value) FILTER (name = peak_name_of(pipe)), max(value)) AS value,
    coalesce(max(source) FILTER (name = peak_name_of(pipe)), max(source)) AS source
  FROM (SELECT DISTINCT unnest(list_concat((SELECT list(pipe) FROM pipe_counter), ['int8'])) AS pipe)
    JOIN ceilings(run_ids, 'measured') ON name = peak_name_of(pipe) OR name = like_peak_name_of(pipe)
  GROUP BY ALL;

-- The kernels of each layer by name: their time in one inference, and the pipe that does most of their flops by
-- the counters; NULL: not counted.
CREATE OR REPLACE TEMP TABLE kernel_of_layer AS
  -- @if has_device_work() else (layer VARCHAR, name VARCHAR, kernel_ns DOUBLE, pipe VARCHAR)
  WITH launched AS (
    SELECT layer_site, k.site_id, total_ns / r.typical AS kernel_ns
    FROM launched_kernels([chosen_run(6, asked_batch())]) k JOIN run_latency r USING (run_id)),
  counted AS (
    SELECT l.name AS layer, k.name, max_by(pipe, value)
      FILTER (value > 0 AND NOT (pipe = 'fp16' AND only_moves_fp16(k.name))) AS pipe
    FROM (SELECT k.run_id, l.site_id AS layer_site, k.site_id, p.pipe, sum(c.value) AS value
          FROM span k JOIN span l ON l.run_id = k.run_id AND l.span_id = k.layer_id
            JOIN span_counter c ON c.run_id = k.run_id AND c.span_id = k.span_id
            JOIN pipe_counter p ON p.counter = c.name
          WHERE list_contains(counter_run_ids([asked_batch()]), k.run_id) AND k.level = 6 AND l.level = 3
          GROUP BY ALL) f
      JOIN site_names(counter_run_ids([asked_batch()]), 3) l ON l.run_id = f.run_id AND l.site_id = layer_site
      JOIN site_names(counter_run_ids([asked_batch()]), 6) k ON k.run_id = f.run_id AND k.site_id = f.site_id
    GROUP BY ALL),
  named AS (
    SELECT l.name AS layer, k.name, sum(kernel_ns) AS kernel_ns
    FROM launched f JOIN site_names([chosen_run(6, asked_batch())], 3) l ON l.site_id = layer_site
      JOIN site_names([chosen_run(6, asked_batch())], 6) k ON k.site_id = f.site_id
    GROUP BY ALL)
  SELECT n.*, c.pipe FROM named n LEFT JOIN counted c USING (layer, name);

-- ---- The roof of a layer -----------------------------------------------------------------------------------

-- layer_cost with the time of each layer's kernels and its ceilings. The time includes the kernels of layers inside
-- it, if their flops are counted in it. `peak_flops` is the ceiling of the fastest pipe on which its work may have run,
-- `peak_low_flops` of the slowest. It is that of the kernels that multiply matrices, if any do; kernels that serve them
-- in the same layer do not lower it. If no kernel is known to do its work, the pipes follow from its types.
-- `peak_bytes` is the ceiling of the memory. `peak_high_bytes` is that of the L2 cache if all data of the layer fits
-- into it, because the shapes do not show whether it was there already. A CPU has one ceiling of each kind, and caches
-- are not distinguished from memory.
CREATE OR REPLACE TEMP TABLE layer_roof AS
  WITH place AS (
    SELECT run_id, device, threads, coalesce(device LIKE 'cuda%', false) AS is_gpu FROM measured_run
    WHERE run_id = chosen_layer_run(asked_batch())),
  layer AS MATERIALIZED (
    SELECT c.*, arithmetic_of(type, input_types, output_types) AS arithmetic, p.device, threads, is_gpu,
      may_use_tf32(p.device, is_of_cudnn) AS tf32
    FROM layer_cost c, place p),
  launched AS MATERIALIZED (
    SELECT c.name AS layer, kernel_ns, CASE WHEN k.pipe IS NOT NULL THEN [k.pipe, k.pipe]
        ELSE kernel_pipes(k.name, arithmetic, is_matrix, tf32) END AS pipes,
      kernel_work(k.name, k.pipe) AS work
    FROM kernel_of_layer k
      LEFT JOIN (SELECT name, any_value(cost_layer) AS cost_layer FROM layer GROUP BY name) own ON own.name = k.layer
      JOIN (SELECT name, any_value(arithmetic) AS arithmetic, any_value(is_matrix) AS is_matrix, any_value(tf32) AS tf32
            FROM layer GROUP BY name) c ON c.name = coalesce(own.cost_layer, k.layer)),
  ceiling AS MATERIALIZED (FROM pipe_ceilings([chosen_layer_run(asked_batch())])),
  memory AS (
    SELECT coalesce((SELECT peak_of(device, 'memory', 'bytes_per_s', threads) FROM place WHERE NOT is_gpu),
                    max(value) FILTER (name = 'memory_bytes_per_s')) AS bytes,
      max(value) FILTER (name = 'l2_bytes_per_s') AS l2,
      (SELECT try_cast(value AS DOUBLE) FROM evaluation, place
       WHERE key = concat('gpu.', device_number(device), '.l2_bytes')) AS l2_size
    FROM ceilings([chosen_layer_run(asked_batch())], 'measured')),
  worked AS (
    SELECT layer, pipes, work FROM launched QUALIFY work = max(work) OVER (PARTITION BY layer)),
  kernel_time AS (SELECT layer, sum(kernel_ns) AS kernel_ns FROM launched GROUP BY layer),
  -- The pipes of each layer, of which the slowest and the fastest are used. An unknown ceiling is kept, and makes the
  -- result unknown.
  possible AS (
    SELECT l.name AS layer, CASE
        WHEN is_matrix AND coalesce(work, 0) = 0 THEN matrix_pipes(arithmetic, tf32)
        WHEN pipes IS NOT NULL THEN pipes WHEN NOT is_matrix THEN plain_pipes(arithmetic)
        ELSE matrix_pipes(arithmetic, tf32) END AS pipes
    FROM (SELECT DISTINCT ON (name) * FROM layer) l LEFT JOIN worked w ON w.layer = l.name WHERE is_gpu),
  roof AS (
    SELECT p.layer, CASE WHEN count(*) = count(fast.value) THEN max(fast.value) END AS peak_flops,
      CASE WHEN count(*) = count(slow.value) THEN min(slow.value) END AS peak_low_flops,
      max_by(pipes[2], coalesce(fast.value, 0)) AS pipe, min_by(pipes[1], coalesce(slow.value, 0)) AS low_pipe,
      max_by(fast.source, coalesce(fast.value, 0)) AS peak_source
    FROM possible p LEFT JOIN ceiling fast ON fast.pipe = pipes[2] LEFT JOIN ceiling slow ON slow.pipe = pipes[1]
    GROUP BY p.layer),
  on_host AS (
    SELECT arithmetic, host_ceiling(device, arithmetic, threads) AS found FROM (SELECT DISTINCT arithmetic, device,
      threads FROM layer WHERE NOT is_gpu))
  SELECT l.* EXCLUDE (device, threads), kernel_ns, CASE WHEN is_gpu THEN peak_flops ELSE found.value END AS peak_flops,
    CASE WHEN is_gpu THEN peak_low_flops ELSE found.value END AS peak_low_flops,
    CASE WHEN is_gpu THEN pipe ELSE found.pipe END AS pipe,
    CASE WHEN is_gpu THEN low_pipe ELSE found.pipe END AS low_pipe,
    CASE WHEN is_gpu THEN peak_source ELSE found.source END AS peak_source,
    m.bytes AS peak_bytes,
    CASE WHEN is_gpu AND l.bytes <= l2_size * per_inference THEN greatest(m.bytes, m.l2) ELSE m.bytes END
      AS peak_high_bytes
  FROM layer l CROSS JOIN memory m LEFT JOIN kernel_time k ON k.layer = l.name LEFT JOIN roof r ON r.layer = l.name
    LEFT JOIN on_host USING (arithmetic);

-- Returns the bound of work whose ceiling of arithmetic lies between two, and whose bytes may stay in the cache if they
-- fit into it (peak_high_bytes). Returns `memory or compute` if the two ends disagree.
CREATE OR REPLACE TEMP MACRO bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes) AS
  CASE
  WHEN flops = 0 THEN CASE WHEN bytes > 0 THEN 'memory' END
  WHEN bound_by(flops, bytes, peak_flops, peak_bytes) = 'compute' THEN 'compute'
  WHEN peak_high_bytes <= peak_bytes AND bound_by(flops, bytes, peak_low_flops, peak_bytes) = 'memory' THEN 'memory'
  WHEN bound_by(flops, bytes, peak_flops, peak_bytes) = 'memory' THEN 'memory or compute' END;
-- Returns the least time at the lowest ceilings that may apply. Work that took less had higher ceilings, so the result
-- is at most the time that it took, unless the highest ceilings need more. NULL: not known.
CREATE OR REPLACE TEMP MACRO high_least_ns(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes, ns) AS
  CASE WHEN least_ns(flops, bytes, peak_low_flops, peak_bytes) IS NOT NULL THEN
    greatest(least_ns(flops, bytes, peak_flops, peak_high_bytes),
             least(ns, least_ns(flops, bytes, peak_low_flops, peak_bytes))) END;
-- Returns "6 to 42", or "6" if both are practically equal or the higher one is not known.
CREATE OR REPLACE TEMP MACRO range_text(low, high) AS
  list_transform([[printf('%.3g', CAST(low AS DOUBLE)), printf('%.3g', CAST(high AS DOUBLE))]],
    lambda ends: concat(ends[1], CASE WHEN ends[1] <> ends[2] THEN concat(' to ', ends[2]) END))[1];
CREATE OR REPLACE TEMP MACRO pipe_range(low_pipe, pipe) AS
  CASE WHEN low_pipe <> pipe THEN concat(low_pipe, ' to ', pipe) ELSE pipe END;
CREATE OR REPLACE TEMP MACRO allowed_text(least_ns, high_least_ns, ns) AS
  concat(range_text(pct(least_ns, ns), pct(high_least_ns, ns)), ' %');
