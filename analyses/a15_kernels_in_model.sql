-- @id a15
-- @name kernels_in_model
-- @title Kernels in the model
-- @question How much do the kernels compute and move, and what bounds them?
-- The model's latency comes from the model-only run, the kernels' from the run whose deepest level is the
-- kernel, counters from the runs that counted. Throughput is flops over kernel time, not over the model's
-- latency; occupancy is the mean weighted by kernel time. Copies and memory sets are no kernels.
-- @needs model,kernel,peak
-- @view scatter x=intensity_flops_per_byte y=arithmetic_flops_per_s label=batch
-- @view table columns=batch,model_latency_ns,kernel_latency_ns,flops,occupancy_pct,intensity_flops_per_byte,bound
-- @column batch count Inputs per inference.
-- @column model_latency_ns ns Trimmed mean of the model's latency, in the model-only run.
-- @column throughput_per_s per_s Inputs per second: batch / model latency.
-- @column kernel_latency_ns ns Trimmed mean of the summed latency of an inference's kernels.
-- @column gpu_share_pct pct Kernel latency / model latency.
-- @column flops flops Floating-point operations of an inference's kernels.
-- @column dram_read_bytes bytes Read from the device's memory.
-- @column dram_write_bytes bytes Written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy, weighted by kernel latency.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column arithmetic_flops_per_s flops_per_s Flops / kernel latency.
-- @column bound text memory or compute.
WITH model AS (SELECT batch, trimmed_mean(sorted) AS model_latency_ns FROM model_latency),
kernel_run AS (
  SELECT run_id, batch, device, threads,
    peak_of(device, 'fp32', 'flops_per_s', threads) AS peak_flops,
    peak_of(device, 'memory', 'bytes_per_s', threads) AS peak_bytes
  FROM measured_run WHERE level = 6),
inference AS (
  SELECT r.batch, s.iteration, sum(s.duration_ns) AS total_ns
  FROM kernel_run r JOIN span s USING (run_id)
  WHERE s.level = 6 AND is_kernel(s.type) AND s.iteration >= 0 GROUP BY ALL),
kernel AS (SELECT batch, trimmed_mean(list_sort(list(total_ns))) AS kernel_latency_ns FROM inference GROUP BY batch),
counter_run AS (
  SELECT run_id, coalesce(batch, 1) AS batch FROM run
  WHERE has_counters(counters) AND status <> 'failed' AND deepest_level(levels) = 6),
counted AS (
  SELECT r.batch, c.name, sum(c.value) / count(DISTINCT (s.run_id, s.iteration)) AS value,
    sum(c.value * s.duration_ns) / nullif(sum(s.duration_ns), 0) AS weighted
  FROM counter_run r JOIN span s USING (run_id) JOIN span_counter c USING (run_id, span_id)
  WHERE s.level = 6 AND is_kernel(s.type) AND s.iteration >= 0 GROUP BY ALL),
total AS (
  SELECT batch, max(value) FILTER (name = 'flops') AS flops,
    max(value) FILTER (name = 'dram_read_bytes') AS dram_read_bytes,
    max(value) FILTER (name = 'dram_write_bytes') AS dram_write_bytes,
    max(weighted) FILTER (name = 'occupancy_pct') AS occupancy_pct
  FROM counted GROUP BY batch)
SELECT batch, model_latency_ns, batch * 1e9 / model_latency_ns AS throughput_per_s, kernel_latency_ns,
  pct(kernel_latency_ns, model_latency_ns) AS gpu_share_pct, flops, dram_read_bytes, dram_write_bytes,
  occupancy_pct, intensity(flops, dram_read_bytes + dram_write_bytes) AS intensity_flops_per_byte,
  intensity(peak_flops, peak_bytes) AS ideal_flops_per_byte,
  1e9 * flops / kernel_latency_ns AS arithmetic_flops_per_s,
  bound_by(flops, dram_read_bytes + dram_write_bytes, peak_flops, peak_bytes) AS bound
FROM kernel JOIN kernel_run USING (batch) LEFT JOIN model USING (batch) LEFT JOIN total USING (batch)
ORDER BY batch
