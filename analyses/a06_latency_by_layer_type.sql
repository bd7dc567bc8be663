-- @id a6
-- @name latency_by_layer_type
-- @title Latency by layer type
-- @question Which types of layer take the most time?
-- The layers' own times, without those of nested layers, are summed by operator. They are times of the host, unless
-- `time_of` says device; what a type's kernels take of the inference is in time_by_level. If a device ran, device_ns is
-- the time of the device, and span_ns is the time of host and device together.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=type value=latency_ns
-- @view table caption=batch,time_of columns=type,layers,latency_ns,device_ns,layers_share_pct
-- @view table by=latency_ns top=12 bar=layers_share_pct
-- @column batch count Inputs per inference.
-- @column type text Operator of the layers.
-- @column layers count Number of layers of this type.
-- @column latency_ns ns Sum of the layers' own latencies in one inference.
-- @column device_ns ns Device time of the layers' work, overlaps counted once; empty: no device was recorded.
-- @column span_ns ns Time from their first launch to their last end, with other layers between; empty: no launch.
-- @column layers_share_pct pct Share of latency_ns in the sum of all layers.
-- @column time_of text Clock of latency_ns: host or device.
SELECT batch, coalesce(type, 'unknown') AS type, count(*) AS layers, sum(self_ns) AS latency_ns,
  any_value(d.device_ns) AS device_ns, any_value(d.span_ns) AS span_ns,
  pct(sum(self_ns), sum(sum(self_ns)) OVER ()) AS layers_share_pct, any_value(time_of) AS time_of
FROM layers(CAST($batch AS INTEGER)) l
  LEFT JOIN (FROM layer_device_time WHERE of = 'type') d ON d.name = coalesce(type, 'unknown')
GROUP BY batch, coalesce(type, 'unknown')
ORDER BY latency_ns DESC, type
