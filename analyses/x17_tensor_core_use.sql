-- @id x17
-- @name tensor_core_use
-- @title Use of the tensor cores
-- @question Which layers run on the tensor cores, and which could run on them but do not?
-- Each row covers the kernels of one layer: the share of their flops and of their time on tensor cores, and how busy
-- the tensor cores are (the mean of tensor_pipe_pct weighted by time). Convolutions, matrix products and attention
-- could use tensor cores, but those whose filters read one channel. `missed` marks those that do not; look at these
-- first. Layers without flops are left out.
-- @needs kernel,counters
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=index,layer,type,pipe,counted_latency_ns,latency_pct,tensor_flops_pct
-- @view table columns=tensor_time_pct,tensor_pipe_pct,missed by=counted_latency_ns top=20
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer; empty: kernels outside of all layers.
-- @column type text The layer's operator.
-- @column pipe text The pipe that does most of the layer's flops.
-- @column counted_latency_ns ns Sum of the durations of the layer's kernels that were counted.
-- @column latency_pct pct Share in the latency of all kernels that were counted.
-- @column flops flops Floating-point operations in one inference.
-- @column tensor_flops flops Part of flops on tensor cores.
-- @column tensor_flops_pct pct Share of tensor_flops in flops.
-- @column tensor_time_pct pct Share of the layer's kernel time in kernels that use tensor cores.
-- @column tensor_pipe_pct pct Mean use of the tensor cores, weighted by time; empty: not counted.
-- @column missed bool Whether the layer multiplies matrices, but none of its flops are on tensor cores.
WITH own AS (
  SELECT batch, layer, min(ordinal) AS first, sum(latency_ns) AS latency_ns, sum(flops) AS flops,
    coalesce(sum(tensor_flops), 0) AS tensor_flops, coalesce(sum(latency_ns) FILTER (tensor_flops > 0), 0) AS tensor_ns,
    weighted_mean(tensor_pipe_pct, latency_ns) AS tensor_pipe_pct, max_by(pipe, flops) AS pipe
  FROM every_kernel_fact WHERE counted IS NULL
  GROUP BY batch, layer),
placed AS (
  SELECT own.*, l.ordinal, l.type, is_depthwise(l.type, l.inputs) AS is_depthwise, multiplies,
    pct(latency_ns, sum(own.latency_ns) OVER ()) AS latency_pct
  FROM own LEFT JOIN (
    SELECT name, ordinal, type, inputs,
      coalesce(is_matrix, is_convolution(type) OR
        regexp_matches(lower(operator_of(type)), 'linear|gemm|matmul|mm$|attention'), false) AS multiplies
    FROM layer_cost) l ON l.name = own.layer)
SELECT batch, ordinal AS index, layer, type, pipe, latency_ns AS counted_latency_ns, latency_pct, flops, tensor_flops,
  pct(tensor_flops, flops) AS tensor_flops_pct, pct(tensor_ns, latency_ns) AS tensor_time_pct, tensor_pipe_pct,
  tensor_flops = 0 AND coalesce(multiplies AND NOT is_depthwise, false) AS missed
FROM placed
WHERE flops > 0
ORDER BY coalesce(ordinal, 2147483647), first
