-- @id x7
-- @name dominant_third
-- @title Beginning, middle and end
-- @question Which third of the network dominates latency, memory and flops?
-- The outermost layers, in the order of execution, are divided into three parts whose numbers of layers differ by at
-- most one. Each sum covers the layers for which the figure is known; unknown_layers is the number of layers without
-- known flops. If a GPU ran and counted, the columns of kernels, counted flops and accesses to the device's memory are
-- filled too, and these decide which third dominates.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view stacked_bar stack=third y=latency_pct,memory_pct,flops_pct,accesses_pct,kernel_latency_pct
-- @view stacked_bar y=counted_flops_pct,counted_accesses_pct
-- @view table caption=batch columns=third,layers,dominates,latency_ns,latency_pct,kernel_latency_pct,memory_pct
-- @view table columns=counted_flops_pct,counted_accesses_pct,flops_pct,accesses_pct
-- @column batch count Inputs per inference.
-- @column third text Part of the network: beginning, middle or end.
-- @column layers count Number of layers in this third.
-- @column latency_ns ns Sum of the layers' latencies.
-- @column latency_pct pct Share in the latency of all layers.
-- @column memory_bytes bytes Memory allocated for the layers, or for their outputs.
-- @column memory_pct pct Share in the memory of all layers.
-- @column flops flops Sum of the layers' analytic flops.
-- @column flops_pct pct Share in the flops of all layers.
-- @column accesses_bytes bytes Sum of the bytes that the layers must move.
-- @column accesses_pct pct Share in the bytes of all layers.
-- @column unknown_layers count Number of layers whose flops are not known.
-- @column kernel_latency_ns ns Sum of the latencies of the layers' kernels; empty: not measured.
-- @column kernel_latency_pct pct Share in the kernel latency of all layers.
-- @column counted_flops_pct pct Share in all flops that were counted; empty: not counted.
-- @column counted_accesses_pct pct Share in all bytes that were counted.
-- @column dominates text The figures of which this third has the largest share.
WITH wanted AS (SELECT chosen_batch(3, CAST($batch AS INTEGER)) AS batch),
layer AS MATERIALIZED (FROM layer_cost),
outer_layer AS MATERIALIZED (
  SELECT *, (3 * (row_number() OVER (ORDER BY ordinal) - 1)) // count(*) OVER () AS third
  FROM layer WHERE depth = 0),
-- A nested layer, and its kernels, belong to the outermost layer that began last before it.
own AS (
  SELECT name, sum(latency_ns) AS kernel_ns, sum(flops) AS counted_flops, sum(dram_bytes) AS counted_bytes FROM (
    SELECT layer AS name, latency_ns, flops, dram_bytes
    FROM kernel_fact)
  GROUP BY name),
counted AS (
  SELECT o.third, sum(kernel_ns) AS kernel_ns, sum(counted_flops) AS counted_flops, sum(counted_bytes) AS counted_bytes
  FROM (SELECT ordinal, own.* FROM layer JOIN own USING (name)) l
    ASOF JOIN outer_layer o ON l.ordinal >= o.ordinal
  GROUP BY o.third),
work AS (
  SELECT o.third, sum(l.flops) AS flops, sum(l.bytes) AS accesses_bytes,
    count(*) FILTER (l.flops_in IS NULL) AS unknown_layers
  FROM layer l ASOF JOIN outer_layer o ON l.ordinal >= o.ordinal GROUP BY o.third),
part AS (
  SELECT batch, third, count(*) AS layers, sum(latency_ns) AS latency_ns,
    sum(coalesce(allocated_bytes, output_bytes)) AS memory_bytes, any_value(w.flops) AS flops,
    any_value(w.accesses_bytes) AS accesses_bytes, any_value(w.unknown_layers) AS unknown_layers
  FROM outer_layer LEFT JOIN layer_counters((SELECT batch FROM wanted)) USING (site_id)
    LEFT JOIN work w USING (third)
  GROUP BY batch, third)
SELECT batch, ['beginning', 'middle', 'end'][third + 1] AS third, layers,
  latency_ns, pct(latency_ns, sum(latency_ns) OVER ()) AS latency_pct,
  memory_bytes, pct(memory_bytes, sum(memory_bytes) OVER ()) AS memory_pct,
  flops, pct(flops, sum(flops) OVER ()) AS flops_pct,
  accesses_bytes, pct(accesses_bytes, sum(accesses_bytes) OVER ()) AS accesses_pct, unknown_layers,
  kernel_ns AS kernel_latency_ns, pct(kernel_ns, sum(kernel_ns) OVER ()) AS kernel_latency_pct,
  pct(counted_flops, sum(counted_flops) OVER ()) AS counted_flops_pct,
  pct(counted_bytes, sum(counted_bytes) OVER ()) AS counted_accesses_pct,
  array_to_string(list_filter([
    CASE WHEN latency_ns = max(latency_ns) OVER () THEN 'latency' END,
    CASE WHEN kernel_ns = max(kernel_ns) OVER () THEN 'kernel latency' END,
    CASE WHEN memory_bytes = max(memory_bytes) OVER () THEN 'memory' END,
    CASE WHEN coalesce(counted_flops, flops) = max(coalesce(counted_flops, flops)) OVER () THEN 'flops' END,
    CASE WHEN coalesce(counted_bytes, accesses_bytes) = max(coalesce(counted_bytes, accesses_bytes)) OVER ()
      THEN 'accesses' END],
    lambda one: one IS NOT NULL), ', ') AS dominates
FROM part LEFT JOIN counted USING (third)
ORDER BY part.third
