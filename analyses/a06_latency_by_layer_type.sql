-- @id a6
-- @name latency_by_layer_type
-- @title Latency by layer type
-- @question Which types of layer does the time go to?
-- The layers' own time, without that of nested layers, summed by operator.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=type value=latency_ns
-- @view table caption=batch columns=type,layers,latency_ns,share_pct by=latency_ns top=12 bar=share_pct
-- @column batch count Inputs per inference.
-- @column type text Operator.
-- @column layers count Layers of this type.
-- @column latency_ns ns Sum of their own latencies (trimmed means) in one inference.
-- @column share_pct pct Share in the sum of all layers.
SELECT batch, coalesce(type, 'unknown') AS type, count(*) AS layers, sum(self_ns) AS latency_ns,
  pct(sum(self_ns), sum(sum(self_ns)) OVER ()) AS share_pct
FROM layers(CAST($batch AS INTEGER))
GROUP BY ALL
ORDER BY latency_ns DESC, type
