-- @id a12
-- @name counters_by_layer
-- @title Counters by layer
-- @question How much does each layer compute and move, counted by the device?
-- The counters are sums over the layer's own kernels. The analytic columns beside them follow from the layer's
-- operator and shapes, if these are known (see layer_flops). The counted flops are higher if an algorithm pads or
-- recomputes, and lower if it saves multiplications. The counted bytes are lower if data stays in the caches.
-- @needs kernel,counters
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view bars x=index y=flops,dram_read_bytes,dram_write_bytes
-- @view table caption=batch columns=index,layer,type,flops,analytic_flops,dram_read_bytes,dram_write_bytes
-- @view table columns=analytic_bytes,counted by=flops top=20
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column flops flops Counted floating-point operations in one inference.
-- @column dram_read_bytes bytes Bytes read from the device's memory.
-- @column dram_write_bytes bytes Bytes written to the device's memory.
-- @column analytic_flops flops Flops that follow from the layer's shapes; empty: unknown.
-- @column analytic_bytes bytes Bytes of the layer's inputs, weights and outputs, each once; empty: unknown.
-- @column flops_ratio ratio Counted flops / analytic flops.
-- @column bytes_ratio ratio Counted bytes / analytic bytes.
-- @column uncounted_pct pct Share of the kernels' latency whose counters are not known.
-- @column counted text The reason why some counters are not known.
SELECT batch, ordinal AS index, name AS layer, type, flops, dram_read_bytes, dram_write_bytes, analytic_flops,
  analytic_bytes, flops / nullif(analytic_flops, 0) AS flops_ratio,
  dram_bytes / nullif(analytic_bytes, 0) AS bytes_ratio,
  pct(coalesce(uncounted_ns, 0), kernel_ns) AS uncounted_pct, uncounted_why AS counted
FROM layer_kernel
WHERE kernels > 0
ORDER BY coalesce(ordinal, 2147483647), first, name
