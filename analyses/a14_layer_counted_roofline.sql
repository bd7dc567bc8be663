-- @id a14
-- @name layer_counted_roofline
-- @title Layer roofline
-- @question How close are each layer's kernels to the device's limits, and what bounds the layer?
-- Flops and bytes are sums over the layer's own kernels. Throughput is flops divided by the time in which any of these
-- kernels runs, not by the layer's latency: a moment in which several of them run counts once, and other layers'
-- kernels take nothing from it. So the rate of a layer with one kernel is that of the kernel in kernel_roofline. The
-- ceiling of the arithmetic is the rate that results if each kernel runs at the ceiling of its own pipe. Kernels that
-- were not counted are left out. If there are no counters, the analysis x6 gives the analytic roofline.
-- @needs kernel,counters,peak
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view roofline title=layers x=intensity_flops_per_byte y=arithmetic_flops_per_s label=layer
-- @view roofline size=counted_gpu_ns colour=bound,type,pipe peak=peak_flops_per_s
-- @view table caption=batch,peak_bytes_per_s columns=index,layer,type,counted_gpu_ns,intensity_flops_per_byte
-- @view table columns=arithmetic_flops_per_s,pipe,bound,roof_pct,allowed_pct by=counted_gpu_ns top=20 bar=roof_pct
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column counted_gpu_ns ns Time in one inference in which any of the layer's kernels that were counted runs.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_bytes bytes Bytes read from and written to the device's memory.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column arithmetic_flops_per_s flops_per_s Flops / counted_gpu_ns.
-- @column roof_flops_per_s flops_per_s The rate that the ceilings allow at this intensity.
-- @column roof_pct pct Least time that the ceilings of arithmetic and memory allow / counted_gpu_ns.
-- @column allowed_pct pct Least time that all ceilings allow, that of the L2 cache as well, / counted_gpu_ns.
-- @column bound text The limit: memory or compute.
-- @column pipe text The pipe that does most of the layer's flops.
-- @column peak_flops_per_s flops_per_s Ceiling of the arithmetic on the pipes that the kernels use.
-- @column peak_bytes_per_s bytes_per_s Ceiling of the memory.
WITH layer AS (
  SELECT l.*, (kernel_ns - coalesce(uncounted_ns, 0)) * coalesce(cover, 1) AS counted_gpu_ns
  FROM layer_kernel l LEFT JOIN layer_cover c ON c.layer IS NOT DISTINCT FROM l.name)
SELECT batch, ordinal AS index, name AS layer, type, counted_gpu_ns, flops, dram_bytes,
  intensity(flops, dram_bytes) AS intensity_flops_per_byte,
  intensity(peak_flops, peak_bytes) AS ideal_flops_per_byte, 1e9 * flops / counted_gpu_ns AS arithmetic_flops_per_s,
  roof(flops, dram_bytes, peak_flops, peak_bytes) AS roof_flops_per_s,
  pct(least_ns(flops, dram_bytes, peak_flops, peak_bytes), counted_gpu_ns) AS roof_pct,
  pct(allowed_ns(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes), counted_gpu_ns) AS allowed_pct,
  bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound, pipe, peak_flops AS peak_flops_per_s,
  peak_bytes AS peak_bytes_per_s
FROM layer
WHERE counted_gpu_ns > 0
ORDER BY coalesce(ordinal, 2147483647), first, name
