-- @id x4
-- @name layer_tree
-- @title Layer tree
-- @question How are the layers nested, and where inside them is the time spent?
-- The layers as they were nested in the first measured inference, with the latencies of all. The first row is
-- the sum of the outermost layers.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=tree,type,latency_ns,self_ns,share_pct bar=share_pct top=100
-- @column batch count Inputs per inference.
-- @column depth count Nesting: 0 is the sum, 1 an outermost layer.
-- @column tree text The name, indented by its depth.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column latency_ns ns Trimmed mean of its latency in one inference, nested layers included.
-- @column self_ns ns The latency without that of nested layers.
-- @column share_pct pct Share of latency_ns in the sum of the outermost layers.
WITH layer AS MATERIALIZED (FROM layers(CAST($batch AS INTEGER))),
total AS (SELECT sum(latency_ns) AS latency_ns FROM layer WHERE depth = 0),
node AS (
  SELECT DISTINCT ON (site_id) site_id, start_ns, depth AS span_depth FROM span
  WHERE run_id = chosen_layer_run(CAST($batch AS INTEGER)) AND level = 3 AND iteration = 0
  ORDER BY site_id, start_ns)
SELECT batch, 0 AS depth, 'all layers' AS tree, NULL AS name, NULL AS type, any_value(total.latency_ns)
  AS latency_ns, 0 AS self_ns, 100.0 AS share_pct
FROM layer, total GROUP BY batch
UNION ALL
(SELECT batch, depth + 1, concat(repeat('  ', depth + 1), name), name, type, layer.latency_ns, self_ns,
   pct(layer.latency_ns, total.latency_ns)
 FROM layer LEFT JOIN node USING (site_id), total
 ORDER BY start_ns NULLS LAST, span_depth, ordinal)
