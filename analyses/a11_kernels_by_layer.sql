-- @id a11
-- @name kernels_by_layer
-- @title Kernels by layer
-- @question What do the kernels of each layer cost, compute and move?
-- Each layer has one row, with its own kernels only; the kernels of a nested layer belong to that layer. The layer's
-- latency comes from the layer run, the kernels' latency from the kernel run, and the counters from the runs that
-- counted. If kernels run asynchronously, their latency can exceed the layer's, which is then the time to launch them.
-- Throughput is flops divided by the time in which any of the layer's kernels runs. model_share_pct is relative to the
-- latency of the model-only run, and its rows add up to the time in which any kernel runs: of kernels that overlap,
-- each has the moments that time_of_step gives to it. Kernels that no layer launched are in a row without a name.
-- @needs model,kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view bar x=index y=kernel_latency_ns colour=type
-- @view table caption=batch,time_of columns=index,layer,type,latency_ns,kernels,kernel_latency_ns,model_share_pct
-- @view table columns=flops,occupancy_pct,bound by=kernel_latency_ns top=20 bar=model_share_pct
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column depth count Depth of nesting; 0: not inside another layer.
-- @column latency_ns ns Mean over the typical inferences of the layer's latency, without nested layers.
-- @column time_of text Clock of latency_ns: host; or device, if layers are in a CUDA graph.
-- @column kernels number Number of kernels in one inference; empty: the kernel run does not have the layer.
-- @column kernel_latency_ns ns Sum of the kernels' durations in one inference.
-- @column gpu_ns ns Time in one inference in which any of the layer's kernels runs.
-- @column model_share_pct pct Share in the model's time, as in time_by_level; a moment counts for one kernel.
-- @column kernel_share_pct pct Share of kernel_latency_ns in the summed latency of all kernels.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_read_bytes bytes Bytes read from the device's memory.
-- @column dram_write_bytes bytes Bytes written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy, weighted by latency.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column arithmetic_flops_per_s flops_per_s Flops / the part of gpu_ns of the kernels that were counted.
-- @column pipe text The pipe that does most of the kernels' flops.
-- @column bound text The limit: memory or compute.
-- @column uncounted_pct pct Share of kernel_latency_ns whose counters are not known.
-- @column counted text The reason why some counters are not known.
WITH layer AS MATERIALIZED (FROM layer_kernel),
-- The whole is that of time_by_level.
model AS (
  SELECT batch, greatest(latency_ns, coalesce((SELECT max(covered_ns) FROM divided_time), 0)) AS model_ns
  FROM model_latency)
SELECT batch, ordinal AS index, name AS layer, type, depth, latency_ns, time_of, kernels,
  kernel_ns AS kernel_latency_ns, kernel_ns * coalesce(cover, 1) AS gpu_ns,
  pct(kernel_ns * coalesce(part, 1), model_ns) AS model_share_pct,
  pct(kernel_ns, sum(kernel_ns) OVER ()) AS kernel_share_pct, flops, dram_read_bytes, dram_write_bytes, occupancy_pct,
  intensity(flops, dram_bytes) AS intensity_flops_per_byte,
  1e9 * flops / nullif((kernel_ns - coalesce(uncounted_ns, 0)) * coalesce(cover, 1), 0) AS arithmetic_flops_per_s, pipe,
  bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound,
  pct(coalesce(uncounted_ns, 0), kernel_ns) AS uncounted_pct, uncounted_why AS counted
FROM layer LEFT JOIN model USING (batch)
  LEFT JOIN overlapped_layer ON of_layer = coalesce(nullif(layer.name, ''), 'no layer')
  LEFT JOIN layer_cover c ON c.layer IS NOT DISTINCT FROM layer.name
ORDER BY coalesce(ordinal, 2147483647), first, name
