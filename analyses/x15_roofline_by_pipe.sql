-- @id x15
-- @name roofline_by_pipe
-- @title Roofline by precision and pipe
-- @question In which precision and on which pipe is the work done, and how close is each to its ceiling?
-- The flops are counted for each pipe, and a kernel may use several pipes. The time of a pipe is that of the kernels
-- that use the pipe more than any other. Its rate is those kernels' flops on the pipe divided by that time. Kernels
-- without flops have a row of their own. The table has the measured ceiling and the ceiling that follows from the
-- device's attributes.
-- @needs kernel,counters
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view roofline title=pipes x=intensity_flops_per_byte y=arithmetic_flops_per_s label=pipe size=latency_ns
-- @view roofline colour=pipe peak=peak_flops_per_s
-- @view table caption=batch columns=pipe,kernels,latency_ns,latency_pct,flops,flops_pct,arithmetic_flops_per_s
-- @view table columns=peak_flops_per_s,peak_pct,attribute_flops_per_s bar=flops_pct
-- @column batch count Inputs per inference.
-- @column pipe text The pipe: fp32, bf16_tensor, ...; none: kernels without flops.
-- @column kernels number Number of kernels in one inference that use this pipe most.
-- @column latency_ns ns Summed latency of those kernels.
-- @column latency_pct pct Share in the latency of all kernels that were counted.
-- @column flops flops Flops on this pipe in one inference, by all kernels.
-- @column flops_pct pct Share in the flops of all pipes.
-- @column intensity_flops_per_byte flops_per_byte Flops of those kernels on the pipe / bytes that they moved.
-- @column arithmetic_flops_per_s flops_per_s Flops of those kernels on the pipe / their latency.
-- @column peak_flops_per_s flops_per_s The pipe's measured ceiling; empty: not known.
-- @column peak_pct pct Share of the measured ceiling that is attained.
-- @column attribute_flops_per_s flops_per_s The ceiling by the device's attributes; empty: not known.
WITH fact AS MATERIALIZED (
  FROM every_kernel_fact WHERE counted IS NULL),
own AS (
  SELECT batch, CASE WHEN flops > 0 THEN pipe ELSE 'none' END AS pipe, sum(per_inference) AS kernels,
    sum(latency_ns) AS latency_ns, sum(dram_bytes) AS dram_bytes
  FROM fact GROUP BY ALL),
flop AS (
  SELECT f.batch, p.pipe, sum(c.value * f.per_inference) AS flops,
    sum(c.value * f.per_inference) FILTER (p.pipe = f.pipe) AS own_flops
  FROM fact f JOIN counted_kernels([chosen_batch(6, CAST($batch AS INTEGER))]) c
      ON c.layer = coalesce(f.layer, '') AND c.occurrence = f.occurrence AND c.position = f.position AND c.name = f.name
    JOIN pipe_counter p USING (counter)
  GROUP BY ALL HAVING sum(c.value) > 0),
ceiling AS (FROM ceilings([chosen_run(6, CAST($batch AS INTEGER))], 'measured') WHERE source = 'measured'),
attribute_ceiling AS (FROM ceilings([chosen_run(6, CAST($batch AS INTEGER))], 'attribute') WHERE source = 'attribute'),
line AS (
  SELECT coalesce(own.batch, flop.batch) AS batch, coalesce(own.pipe, flop.pipe) AS pipe, kernels, latency_ns, flops,
    own_flops, dram_bytes
  FROM own FULL JOIN flop ON flop.pipe = own.pipe)
SELECT line.batch, pipe, coalesce(kernels, 0) AS kernels, coalesce(latency_ns, 0) AS latency_ns,
  pct(coalesce(latency_ns, 0), sum(latency_ns) OVER ()) AS latency_pct, coalesce(flops, 0) AS flops,
  pct(coalesce(flops, 0), sum(flops) OVER ()) AS flops_pct,
  intensity(own_flops, dram_bytes) AS intensity_flops_per_byte,
  1e9 * own_flops / latency_ns AS arithmetic_flops_per_s, c.value AS peak_flops_per_s,
  pct(1e9 * own_flops / latency_ns, c.value) AS peak_pct, a.value AS attribute_flops_per_s
FROM line LEFT JOIN ceiling c ON c.name = peak_name_of(pipe)
  LEFT JOIN attribute_ceiling a ON a.name = peak_name_of(pipe)
ORDER BY latency_ns DESC NULLS LAST, pipe
