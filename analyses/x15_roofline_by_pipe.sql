-- @id x15
-- @name roofline_by_pipe
-- @title Roofline by precision and pipe
-- @question In which precision and on which pipe is the work done, and how close is each to its ceiling?
-- The flops are counted for each pipe, and a kernel may use several pipes. The time of a pipe is that of the kernels
-- that use the pipe more than any other. Its rate is those kernels' flops on the pipe divided by the time in which any
-- of them runs. Kernels without flops have a row of their own. The table has the measured ceiling and the ceiling that
-- follows from the device's attributes.
-- @needs kernel,counters
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view roofline title=pipes x=intensity_flops_per_byte y=arithmetic_flops_per_s label=pipe size=latency_ns
-- @view roofline colour=pipe peak=peak_flops_per_s
-- @view table caption=batch columns=pipe,kernels,latency_ns,latency_pct,flops,flops_pct,arithmetic_flops_per_s
-- @view table columns=peak_flops_per_s,peak_pct,attribute_flops_per_s bar=flops_pct
-- @column batch count Inputs per inference.
-- @column pipe text The pipe: fp32, bf16_tensor, ...; none: kernels without flops.
-- @column kernels number Number of kernels in one inference that use this pipe most.
-- @column latency_ns ns Sum of those kernels' durations in one inference.
-- @column latency_pct pct Share in the latency of all kernels that were counted.
-- @column counted_gpu_ns ns Time in one inference in which any of those kernels runs.
-- @column flops flops Flops on this pipe in one inference, by all kernels.
-- @column flops_pct pct Share in the flops of all pipes.
-- @column intensity_flops_per_byte flops_per_byte Flops of those kernels on the pipe / bytes that they moved.
-- @column arithmetic_flops_per_s flops_per_s Flops of those kernels on the pipe / counted_gpu_ns.
-- @column peak_flops_per_s flops_per_s The pipe's measured ceiling; empty: not known.
-- @column peak_pct pct Share of the measured ceiling that is attained.
-- @column attribute_flops_per_s flops_per_s The ceiling by the device's attributes; empty: not known.
WITH fact AS MATERIALIZED (
  SELECT *, CASE WHEN flops > 0 THEN pipe ELSE 'none' END AS main_pipe
  FROM every_kernel_fact WHERE counted IS NULL),
seen AS (
  SELECT k.*, hidden_ns(main_pipe, k.run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS hidden_ns,
    main_pipe
  FROM seen_kernel k JOIN (
      SELECT run_id, layer_site, site_id, min(main_pipe) AS main_pipe FROM fact GROUP BY ALL) f
    ON f.run_id = k.run_id AND f.site_id = k.site_id AND f.layer_site IS NOT DISTINCT FROM k.layer_site),
pipe_cover AS (
  SELECT main_pipe, cover_of(hidden_ns, start_ns, end_ns, weight) AS cover FROM seen GROUP BY main_pipe),
own AS (
  SELECT batch, main_pipe AS pipe, sum(per_inference) AS kernels, sum(latency_ns) AS latency_ns,
    sum(latency_ns) * coalesce(any_value(cover), 1) AS counted_gpu_ns, sum(dram_bytes) AS dram_bytes
  FROM fact LEFT JOIN pipe_cover USING (main_pipe) GROUP BY batch, main_pipe),
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
  SELECT coalesce(own.batch, flop.batch) AS batch, coalesce(own.pipe, flop.pipe) AS pipe, kernels, latency_ns,
    counted_gpu_ns, flops, own_flops, dram_bytes
  FROM own FULL JOIN flop ON flop.pipe = own.pipe)
SELECT line.batch, pipe, coalesce(kernels, 0) AS kernels, coalesce(latency_ns, 0) AS latency_ns,
  pct(coalesce(latency_ns, 0), sum(latency_ns) OVER ()) AS latency_pct, coalesce(counted_gpu_ns, 0) AS counted_gpu_ns,
  coalesce(flops, 0) AS flops, pct(coalesce(flops, 0), sum(flops) OVER ()) AS flops_pct,
  intensity(own_flops, dram_bytes) AS intensity_flops_per_byte,
  1e9 * own_flops / counted_gpu_ns AS arithmetic_flops_per_s, c.value AS peak_flops_per_s,
  pct(1e9 * own_flops / counted_gpu_ns, c.value) AS peak_pct, a.value AS attribute_flops_per_s
FROM line LEFT JOIN ceiling c ON c.name = peak_name_of(pipe)
  LEFT JOIN attribute_ceiling a ON a.name = peak_name_of(pipe)
ORDER BY latency_ns DESC NULLS LAST, pipe
