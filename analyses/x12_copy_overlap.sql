-- @id x12
-- @name copy_overlap
-- @title Copies beside kernels
-- @question How long does the device copy, and how much of that time do kernels hide?
-- Each kind of copy and memory set has one row. The overlap is the part of its time during which a kernel ran on the
-- same device, on any stream.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param inferences integer 500 The largest number of inferences to look at; they are spread evenly.
-- @view table caption=batch columns=copy,copies,bytes,duration_ns,bytes_per_s,overlapped_ns,overlap_pct
-- @column batch count Inputs per inference.
-- @column copy text Kind of the copy: memcpy HtoD, memset, ...
-- @column copies number Number of these copies in one inference.
-- @column bytes bytes Bytes in one inference; empty: not known.
-- @column duration_ns ns Sum of the copies' durations in one inference.
-- @column bytes_per_s bytes_per_s Bytes / duration.
-- @column overlapped_ns ns Part of duration_ns during which a kernel ran.
-- @column overlap_pct pct Share of overlapped_ns in duration_ns.
-- @column model_share_pct pct Share of the time that no kernel hides in the model's latency, or in a step of a program.
WITH inside AS MATERIALIZED (
  SELECT *, is_kernel(type) AS is_kernel FROM activity(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))
  WHERE level = 6),
inference AS (
  SELECT any_value(batch) AS batch, count(*) AS inferences, avg(end_ns - start_ns) AS inference_ns
  FROM some_inferences(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
kernel AS (
  SELECT process, iteration, device, start_ns, end_ns,
    max(end_ns) OVER (PARTITION BY process, iteration, device ORDER BY start_ns
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
  FROM inside WHERE is_kernel),
-- Kernels that touch or overlap make one island.
island AS (
  SELECT process, iteration, device, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM (
    SELECT *, sum(CAST(coalesce(start_ns > covered_ns, true) AS INTEGER))
      OVER (PARTITION BY process, iteration, device ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS number FROM kernel)
  GROUP BY process, iteration, device, number),
size AS (
  SELECT span_id, value AS bytes FROM span_counter
  WHERE run_id = chosen_run(6, CAST($batch AS INTEGER)) AND name = 'bytes'),
copy AS (
  SELECT c.span_id, c.name, any_value(c.end_ns - c.start_ns) AS duration_ns,
    coalesce(sum(least(c.end_ns, i.end_ns) - greatest(c.start_ns, i.start_ns)) FILTER (i.iteration IS NOT NULL), 0)
      AS overlapped_ns
  FROM inside c LEFT JOIN island i ON i.process = c.process AND i.iteration = c.iteration
    AND i.device IS NOT DISTINCT FROM c.device AND i.start_ns < c.end_ns AND i.end_ns > c.start_ns
  WHERE NOT c.is_kernel GROUP BY c.span_id, c.name)
SELECT any_value(inference.batch) AS batch, name AS copy, count(*) / any_value(inferences) AS copies,
  sum(bytes) / any_value(inferences) AS bytes, sum(duration_ns) / any_value(inferences) AS duration_ns,
  1e9 * sum(bytes) / nullif(sum(duration_ns) FILTER (bytes IS NOT NULL), 0) AS bytes_per_s,
  sum(overlapped_ns) / any_value(inferences) AS overlapped_ns, pct(sum(overlapped_ns), sum(duration_ns)) AS overlap_pct,
  pct((sum(duration_ns) - sum(overlapped_ns)) / any_value(inferences),
    coalesce(any_value(latency_ns), any_value(inference_ns))) AS model_share_pct
FROM copy LEFT JOIN size USING (span_id) CROSS JOIN inference
  LEFT JOIN (SELECT batch, latency_ns FROM model_latency) USING (batch)
GROUP BY name
ORDER BY sum(duration_ns) DESC, name
