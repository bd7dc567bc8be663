-- @id a6
-- @name latency_by_layer_type
-- @title Latency by layer type
-- @question Which types of layer does the time go to?
-- The layers' own time, without that of nested layers, summed by operator: on the host; where a device ran, device_ns
-- and span_ns are those of the device and of both.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=type value=latency_ns
-- @view table caption=batch columns=type,layers,latency_ns,device_ns,share_pct by=latency_ns top=12 bar=share_pct
-- @column batch count Inputs per inference.
-- @column type text Operator.
-- @column layers count Layers of this type.
-- @column latency_ns ns Sum of their own latencies in one inference.
-- @column device_ns ns Time of the device in what they launched, each moment once; empty: no device was recorded.
-- @column span_ns ns From their first launch to the last end of their work, others' in between; empty: none launched.
-- @column share_pct pct Share in the sum of all layers.
SELECT batch, coalesce(type, 'unknown') AS type, count(*) AS layers, sum(self_ns) AS latency_ns,
  any_value(d.device_ns) AS device_ns, any_value(d.span_ns) AS span_ns,
  pct(sum(self_ns), sum(sum(self_ns)) OVER ()) AS share_pct
FROM layers(CAST($batch AS INTEGER)) l
  LEFT JOIN (FROM layer_device_times(CAST($batch AS INTEGER)) WHERE of = 'type') d ON d.name = coalesce(type, 'unknown')
GROUP BY batch, coalesce(type, 'unknown')
ORDER BY latency_ns DESC, type
