-- @id a10
-- @name kernels_by_name
-- @title Kernels by name
-- @question Which kernels take the most time, in whatever layer?
-- Kernels of the same name are combined. Latencies, flops and bytes are sums, and occupancy is the mean weighted by
-- latency. Arithmetic intensity is computed from the sums. Throughput is flops divided by the time in which any of
-- these kernels runs, so kernels of one name that run at once count together. model_share_pct is relative to the
-- latency of the model-only run, and its rows add up to the time in which any kernel runs: of kernels that overlap,
-- each has the moments that time_of_step gives to it. `uncounted_pct` is the share of the latency whose counters are
-- not known. The flops and bytes of that share are missing from the sums.
-- @needs model,kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view pie label=label value=latency_ns
-- @view table caption=batch columns=label,kernels,latency_ns,model_share_pct,flops,dram_read_bytes,dram_write_bytes
-- @view table columns=occupancy_pct,bound by=latency_ns top=20 bar=model_share_pct
-- @column batch count Inputs per inference.
-- @column name text The kernels' name.
-- @column label text The name without return type, arguments and template.
-- @column kernels number Number of these kernels that run in one inference.
-- @column layers count Number of different layers that the kernels run in.
-- @column latency_ns ns Sum of the kernels' durations in one inference.
-- @column gpu_ns ns Time in one inference in which any of these kernels runs.
-- @column model_share_pct pct Share in the model's time, as in time_by_level; a moment counts for one kernel.
-- @column kernel_share_pct pct Share of latency_ns in the summed latency of all kernels.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_read_bytes bytes Bytes read from the device's memory.
-- @column dram_write_bytes bytes Bytes written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy, weighted by latency.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column arithmetic_flops_per_s flops_per_s Flops / the part of gpu_ns of the kernels that were counted.
-- @column pipe text The pipe that does most of the kernels' flops.
-- @column bound text The limit: memory or compute.
-- @column uncounted_pct pct Share of latency_ns whose counters are not known.
WITH fact AS MATERIALIZED (FROM every_kernel_fact),
alone AS (SELECT kernel AS label, sum(alone_ns) / sum(part_ns) AS part FROM overlapped_part GROUP BY kernel),
-- The whole is that of time_by_level.
model AS (
  SELECT batch, greatest(latency_ns, coalesce((SELECT max(covered_ns) FROM divided_time), 0)) AS model_ns
  FROM model_latency),
total AS (
  SELECT batch, name, sum(per_inference) AS kernels, count(DISTINCT layer) AS layers, sum(latency_ns) AS latency_ns,
    coalesce(sum(latency_ns) FILTER (counted IS NULL), 0) AS counted_ns, sum(flops) AS flops,
    sum(dram_read_bytes) AS dram_read_bytes, sum(dram_write_bytes) AS dram_write_bytes, sum(dram_bytes) AS dram_bytes,
    weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct, max_by(pipe, flops) AS pipe,
    mixed_peak(flops, peak_flops) AS peak_flops, max(peak_bytes) AS peak_bytes
  FROM fact GROUP BY batch, name)
SELECT batch, name, kernel_label(name) AS label, kernels, layers, latency_ns,
  latency_ns * coalesce(cover, 1) AS gpu_ns, pct(latency_ns * coalesce(part, 1), model_ns) AS model_share_pct,
  pct(latency_ns, sum(latency_ns) OVER ()) AS kernel_share_pct,
  flops, dram_read_bytes, dram_write_bytes, occupancy_pct, intensity(flops, dram_bytes) AS intensity_flops_per_byte,
  1e9 * flops / nullif(counted_ns * coalesce(cover, 1), 0) AS arithmetic_flops_per_s, pipe,
  bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound,
  pct(latency_ns - counted_ns, latency_ns) AS uncounted_pct
FROM total LEFT JOIN model USING (batch) LEFT JOIN alone ON alone.label = kernel_label(name)
  LEFT JOIN name_cover USING (name)
ORDER BY latency_ns DESC, name
