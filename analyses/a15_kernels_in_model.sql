-- @id a15
-- @name kernels_in_model
-- @title Kernels in the model
-- @question How much do the kernels compute and move, and what bounds them?
-- The model's latency comes from the model-only run. The kernels' latency comes from the run whose deepest level is the
-- kernel, and the counters come from the runs that counted, kernel by kernel. Throughput is flops divided by the time
-- in which any kernel runs, not by the model's latency, nor by the sum of the kernels' durations. Occupancy is the mean
-- weighted by duration. Copies and memory sets are not kernels. The ceiling of the arithmetic is the rate that results
-- if each kernel runs at the ceiling of its own pipe.
-- @needs model,kernel,peak
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view roofline title=batch_sizes x=intensity_flops_per_byte y=arithmetic_flops_per_s label=batch colour=bound
-- @view roofline join=batch
-- @view table columns=batch,model_latency_ns,kernels,kernel_latency_ns,gpu_share_pct,flops,uncounted_pct,occupancy_pct
-- @view table columns=intensity_flops_per_byte,bound
-- @column batch count Inputs per inference.
-- @column model_latency_ns ns Latency of the model in the model-only run.
-- @column throughput_per_s per_s Inputs per second: batch / model latency.
-- @column kernels count Kernels that an inference runs.
-- @column kernel_latency_ns ns Sum of the kernels' durations in one inference.
-- @column gpu_ns ns Time in one inference in which any kernel runs.
-- @column gpu_share_pct pct Share of gpu_ns in the model's latency; 100 if it is longer, in a run of its own.
-- @column flops flops Floating-point operations of the kernels of one inference.
-- @column dram_read_bytes bytes Bytes read from the device's memory.
-- @column dram_write_bytes bytes Bytes written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy, weighted by kernel latency.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column arithmetic_flops_per_s flops_per_s Flops / the part of gpu_ns of the kernels that were counted.
-- @column bound text The limit: memory or compute.
-- @column uncounted_pct pct Share of the kernel latency whose counters are not known.
WITH model AS (SELECT batch, latency_ns AS model_latency_ns FROM model_latency),
total AS (
  SELECT batch, run_id, count(*) AS kernels, sum(latency_ns) AS kernel_latency_ns,
    coalesce(sum(latency_ns) FILTER (counted IS NULL), 0) AS counted_ns, sum(flops) AS flops,
    sum(dram_read_bytes) AS dram_read_bytes, sum(dram_write_bytes) AS dram_write_bytes, sum(dram_bytes) AS dram_bytes,
    weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct, mixed_peak(flops, peak_flops) AS peak_flops,
    max(peak_bytes) AS peak_bytes
  FROM kernel_facts(kernel_batches(), $peaks) GROUP BY batch, run_id)
SELECT batch, model_latency_ns, inputs_of(batch) * 1e9 / model_latency_ns AS throughput_per_s, kernels,
  kernel_latency_ns, kernel_latency_ns * coalesce(cover, 1) AS gpu_ns,
  least(100, pct(kernel_latency_ns * coalesce(cover, 1), model_latency_ns)) AS gpu_share_pct, flops,
  dram_read_bytes, dram_write_bytes, occupancy_pct, intensity(flops, dram_bytes) AS intensity_flops_per_byte,
  intensity(peak_flops, peak_bytes) AS ideal_flops_per_byte,
  1e9 * flops / nullif(counted_ns * coalesce(cover, 1), 0) AS arithmetic_flops_per_s,
  bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound,
  pct(kernel_latency_ns - counted_ns, kernel_latency_ns) AS uncounted_pct
FROM total LEFT JOIN model USING (batch) LEFT JOIN kernel_cover USING (run_id)
ORDER BY batch
