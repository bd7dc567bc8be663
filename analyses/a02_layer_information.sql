-- @id a2
-- @name layer_information
-- @title Layer information
-- @question Which layers does the model execute, and what does each cost?
-- One row for each layer that was executed, in the order of execution; latencies are those of the runs that recorded
-- the levels model and layer. What a runtime fused is one layer here. On a GPU a layer's time on the host is that of
-- launching its work: device_ns has the work's own, and span_ns both, with the wait in the queue. Where a CUDA graph is
-- replayed no layer runs on the host, and the times are those of the device, from the kernel run; `time_of` says so.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=index,label,type,shape,latency_ns,device_ns,share_pct,memory_bytes
-- @view table by=latency_ns top=20 bar=share_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column shape text The shapes of its outputs.
-- @column latency_ns ns Mean over the typical inferences of its time in one, nested layers included.
-- @column low_ns ns Lower end of the 95 % interval of latency_ns; empty below 6 blocks.
-- @column high_ns ns Upper end of the 95 % interval of latency_ns.
-- @column device_ns ns Time of the device in what it launched, nested layers included; empty: no device was recorded.
-- @column span_ns ns From its first launch to the last end of its work, or its own end; empty: it launched nothing.
-- @column self_ns ns The latency without that of nested layers.
-- @column share_pct pct Share of self_ns in the sum of all layers.
-- @column memory_bytes bytes Memory allocated for the layer; for its outputs, if that is all that is known.
-- @column memory_of text What memory_bytes counts: allocated, or outputs.
-- @column stands_for text The layers of the model's own file that it stands for; empty: itself.
-- @column label text The layer in the model's own names, what was fused behind plus signs.
-- @column depth count Nesting: 0 is not inside another layer.
-- @column per_inference number Executions in one inference.
-- @column time_of text Whose time the latencies are: host, or device.
SELECT batch, ordinal AS index, name, type, shape_text(outputs) AS shape, latency_ns,
  latency_ns - half_ns AS low_ns, latency_ns + half_ns AS high_ns, d.device_ns, d.span_ns,
  self_ns,
  pct(self_ns, sum(self_ns) OVER ()) AS share_pct,
  coalesce(allocated_bytes, output_bytes) AS memory_bytes,
  CASE WHEN allocated_bytes IS NOT NULL THEN 'allocated' WHEN output_bytes IS NOT NULL THEN 'outputs' END
    AS memory_of,
  array_to_string(source_layers, ' ') AS stands_for,
  layer_label(name, source_layers) AS label, depth, per_inference, time_of
FROM layers(CAST($batch AS INTEGER))
  LEFT JOIN layer_half_widths(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN layer_shapes(CAST($batch AS INTEGER)) USING (site_id)
  LEFT JOIN (SELECT name, device_ns, span_ns FROM layer_device_times(CAST($batch AS INTEGER)) WHERE of = 'layer') d
    USING (name)
ORDER BY ordinal
