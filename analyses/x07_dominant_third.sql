-- @id x7
-- @name dominant_third
-- @title Beginning, middle and end
-- @question Which third of the network dominates latency, memory, flops?
-- The outermost layers, in the order of execution, in three parts whose numbers differ by one at most. Sums are
-- of the layers of which the figure is known; unknown_layers says of how many the flops are not.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view stacked_bar x=third y=latency_pct,memory_pct,flops_pct,accesses_pct
-- @view table caption=batch columns=third,layers,latency_ns,latency_pct,memory_pct,flops_pct,accesses_pct,dominates
-- @column batch count Inputs per inference.
-- @column third text beginning, middle or end.
-- @column layers count Layers in it.
-- @column latency_ns ns Sum of their latencies.
-- @column latency_pct pct Share in the latency of all layers.
-- @column memory_bytes bytes Memory allocated for them, or for their outputs.
-- @column memory_pct pct Share in the memory of all layers.
-- @column flops flops Sum of their analytic flops.
-- @column flops_pct pct Share in the flops of all layers.
-- @column accesses_bytes bytes Sum of the bytes that they must move.
-- @column accesses_pct pct Share in the bytes of all layers.
-- @column unknown_layers count Layers whose flops are not known.
-- @column dominates text Of which figures this third has the largest share.
WITH layer AS (
  SELECT *, (3 * (row_number() OVER (ORDER BY ordinal) - 1)) // count(*) OVER () AS third
  FROM layer_costs(CAST($batch AS INTEGER)) WHERE depth = 0),
part AS (
  SELECT batch, third, count(*) AS layers, sum(latency_ns) AS latency_ns,
    sum(coalesce(allocated_bytes, output_bytes)) AS memory_bytes, sum(flops) AS flops, sum(bytes) AS accesses_bytes,
    count(*) - count(flops) AS unknown_layers
  FROM layer LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
  GROUP BY batch, third)
SELECT batch, ['beginning', 'middle', 'end'][third + 1] AS third, layers,
  latency_ns, pct(latency_ns, sum(latency_ns) OVER ()) AS latency_pct,
  memory_bytes, pct(memory_bytes, sum(memory_bytes) OVER ()) AS memory_pct,
  flops, pct(flops, sum(flops) OVER ()) AS flops_pct,
  accesses_bytes, pct(accesses_bytes, sum(accesses_bytes) OVER ()) AS accesses_pct, unknown_layers,
  array_to_string(list_filter([
    CASE WHEN latency_ns = max(latency_ns) OVER () THEN 'latency' END,
    CASE WHEN memory_bytes = max(memory_bytes) OVER () THEN 'memory' END,
    CASE WHEN flops = max(flops) OVER () THEN 'flops' END,
    CASE WHEN accesses_bytes = max(accesses_bytes) OVER () THEN 'accesses' END],
    lambda one: one IS NOT NULL), ', ') AS dominates
FROM part
ORDER BY part.third
