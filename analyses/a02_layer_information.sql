-- @id a2
-- @name layer_information
-- @title Layer information
-- @question Which layers does the model execute, and what does each cost?
-- Each executed layer has one row, in the order of execution. The latencies come from the runs that recorded the
-- levels model and layer. Layers that a runtime fused are one layer here. On a GPU, the time of a layer on the host is
-- the time to launch its work. device_ns is the time of the work itself, and span_ns covers both, with the wait in the
-- queue. If a CUDA graph is replayed, no layer runs on the host. The times are then device times from the kernel run,
-- and `time_of` says so.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=index,label,type,shape,latency_ns,device_ns,layers_share_pct,memory_bytes
-- @view table by=latency_ns top=20 bar=layers_share_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column shape text Shapes of the layer's outputs.
-- @column latency_ns ns Time in one inference, with nested layers: mean over the typical inferences.
-- @column low_ns ns Lower end of the 95 % interval of latency_ns; empty below 6 blocks.
-- @column high_ns ns Upper end of the 95 % interval of latency_ns.
-- @column device_ns ns Device time of the work that it launched, with nested layers; empty: no device was recorded.
-- @column span_ns ns Time from its first launch to its own end or the end of its work, the later; empty: no launch.
-- @column self_ns ns Latency without the nested layers.
-- @column layers_share_pct pct Share of self_ns in the sum of all layers.
-- @column memory_bytes bytes Memory allocated for the layer, or the size of its outputs if only that is known.
-- @column memory_of text The kind of memory_bytes: allocated, or outputs.
-- @column stands_for text The layers of the model's own file that this layer replaces; empty: only itself.
-- @column label text The layer in the model's own names; fused layers follow plus signs.
-- @column depth count Depth of nesting; 0: not inside another layer.
-- @column per_inference number Number of executions in one inference.
-- @column time_of text Clock of the latencies: host or device.
SELECT batch, ordinal AS index, name, type, shape_text(outputs) AS shape, latency_ns,
  interval_low(latency_ns, half_ns) AS low_ns, latency_ns + half_ns AS high_ns, d.device_ns, d.span_ns,
  self_ns,
  pct(self_ns, sum(self_ns) OVER ()) AS layers_share_pct,
  coalesce(allocated_bytes, output_bytes) AS memory_bytes,
  CASE WHEN allocated_bytes IS NOT NULL THEN 'allocated' WHEN output_bytes IS NOT NULL THEN 'outputs' END
    AS memory_of,
  array_to_string(source_layers, ' ') AS stands_for,
  layer_label(name, source_layers) AS label, depth, per_inference, time_of
FROM layers(CAST($batch AS INTEGER))
  LEFT JOIN layer_half_widths(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN layer_shapes(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN (SELECT name, device_ns, span_ns FROM layer_device_time WHERE of = 'layer') d
    USING (name)
ORDER BY ordinal
