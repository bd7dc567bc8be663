-- @id x16
-- @name hierarchical_roofline
-- @title Hierarchical roofline
-- @question Which limits each kernel most: arithmetic, the L2 cache or the memory?
-- Kernels of the same name are combined. Each has an arithmetic intensity for every level of the memory: its flops
-- divided by the bytes that cross that level. The pipe's ceiling, the L2 cache's and the memory's each allow a least
-- time. The longest of these times tells the limit, unless it is less than a tenth of the time in which any of the
-- kernels of the name runs: then none of the three holds them back, but their start, or the waiting of their
-- instructions for one another. All rates and shares are relative to that time, so those of a kernel whose name no
-- other has are the ones of kernel_roofline. If only few of the L2 cache's bytes reach the memory, the cache is
-- effective.
-- @needs kernel,counters,peak
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view roofline title=memory_levels x=dram_flops_per_byte,l2_flops_per_byte y=arithmetic_flops_per_s label=label
-- @view roofline size=counted_gpu_ns colour=bound
-- @view table caption=batch columns=label,counted_gpu_ns,arithmetic_flops_per_s,dram_flops_per_byte,l2_flops_per_byte
-- @view table columns=dram_pct,l2_pct,compute_pct,bound by=counted_gpu_ns top=20
-- @column batch count Inputs per inference.
-- @column name text The kernels' name.
-- @column label text The name without return type, arguments and template.
-- @column counted_gpu_ns ns Time in one inference in which any of these kernels that were counted runs.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_bytes bytes Bytes read from and written to the device's memory.
-- @column l2_bytes bytes Bytes read from and written to the L2 cache.
-- @column l2_to_dram_pct pct Bytes of the memory / bytes of the L2 cache.
-- @column arithmetic_flops_per_s flops_per_s Flops / counted_gpu_ns.
-- @column dram_flops_per_byte flops_per_byte Arithmetic intensity at the memory.
-- @column l2_flops_per_byte flops_per_byte Arithmetic intensity at the L2 cache.
-- @column compute_pct pct Least time that the pipe allows / counted_gpu_ns.
-- @column l2_pct pct Least time that the L2 cache allows / counted_gpu_ns; empty: its ceiling is not known.
-- @column dram_pct pct Least time that the memory allows / counted_gpu_ns.
-- @column bound text compute, l2 or memory: the longest least time; latency: it is below 10 %; empty: not known.
WITH total AS (
  SELECT batch, name, sum(latency_ns) AS counted_ns, sum(flops) AS flops, sum(dram_bytes) AS dram_bytes,
    sum(l2_bytes) AS l2_bytes, CASE WHEN count(*) FILTER (flops > 0 AND peak_flops IS NULL) = 0
      THEN coalesce(sum(flops / peak_flops), 0) END AS compute_s, max(peak_bytes) AS peak_bytes,
    max(peak_l2_bytes) AS peak_l2_bytes
  FROM every_kernel_fact WHERE counted IS NULL GROUP BY batch, name),
timed AS (
  SELECT *, counted_ns * coalesce(cover, 1) AS counted_gpu_ns FROM total LEFT JOIN name_cover USING (name)),
share AS (
  SELECT *, pct(1e9 * compute_s, counted_gpu_ns) AS compute_pct,
    pct(1e9 * l2_bytes / peak_l2_bytes, counted_gpu_ns) AS l2_pct,
    pct(1e9 * dram_bytes / peak_bytes, counted_gpu_ns) AS dram_pct
  FROM timed)
SELECT batch, name, kernel_label(name) AS label, counted_gpu_ns, flops, dram_bytes, l2_bytes,
  pct(dram_bytes, l2_bytes) AS l2_to_dram_pct, 1e9 * flops / counted_gpu_ns AS arithmetic_flops_per_s,
  intensity(flops, dram_bytes) AS dram_flops_per_byte, intensity(flops, l2_bytes) AS l2_flops_per_byte,
  compute_pct, l2_pct, dram_pct,
  limit_of(compute_pct, l2_pct, dram_pct) AS bound
FROM share
ORDER BY counted_gpu_ns DESC, name
