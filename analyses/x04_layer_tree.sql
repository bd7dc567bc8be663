-- @id x4
-- @name layer_tree
-- @title Layer tree
-- @question How are the layers nested, and where inside them is the time spent?
-- The tree shows the layers as they were nested in the first measured inference, with the latencies of all inferences.
-- The first row is the sum of the outermost layers. Latencies are host times. If a device ran, device_ns is the time
-- of the device, and span_ns is the time of host and device together; the first row has the times of all layers.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=tree,type,latency_ns,device_ns,self_ns,share_pct bar=share_pct top=100
-- @column batch count Inputs per inference.
-- @column depth count Depth of nesting; 0: the sum; 1: an outermost layer.
-- @column tree text The layer's name, indented by its depth.
-- @column name text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column latency_ns ns Time in one inference, with nested layers: mean over the typical inferences.
-- @column device_ns ns Device time of the work that it launched, with nested layers; empty: no device was recorded.
-- @column span_ns ns Time from its first launch to its own end or the end of its work, the later; empty: no launch.
-- @column self_ns ns Latency without the nested layers.
-- @column share_pct pct Share of latency_ns in the sum of the outermost layers.
WITH layer AS MATERIALIZED (FROM layers(CAST($batch AS INTEGER))),
total AS (SELECT sum(latency_ns) AS latency_ns FROM layer WHERE depth = 0),
device AS MATERIALIZED (FROM layer_device_time),
node AS (
  SELECT DISTINCT ON (site_id) site_id, start_ns, depth AS span_depth FROM span
  WHERE run_id = chosen_layer_run(CAST($batch AS INTEGER)) AND level = 3 AND iteration = 0
  ORDER BY site_id, start_ns)
SELECT batch, 0 AS depth, 'all layers' AS tree, NULL AS name, NULL AS type, any_value(total.latency_ns)
  AS latency_ns, any_value(d.device_ns) AS device_ns, any_value(d.span_ns) AS span_ns, 0 AS self_ns, 100.0 AS share_pct
FROM layer CROSS JOIN total LEFT JOIN (FROM device WHERE of = 'all layers') d ON true GROUP BY batch
UNION ALL
(SELECT batch, depth + 1, concat(repeat('  ', depth + 1), name), name, type, layer.latency_ns, d.device_ns, d.span_ns,
   self_ns, pct(layer.latency_ns, total.latency_ns)
 FROM layer LEFT JOIN node USING (site_id) LEFT JOIN (FROM device WHERE of = 'layer') d USING (name) CROSS JOIN total
 ORDER BY start_ns NULLS LAST, span_depth, ordinal)
