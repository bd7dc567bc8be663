-- @id a12
-- @name counters_by_layer
-- @title Counters by layer
-- @question How much does each layer compute and move, counted by the device?
-- Sums over the layer's own kernels. Beside them what follows from the layer's operator and shapes, where these are
-- known (see layer_flops): the counted flops are more where an algorithm pads or recomputes, fewer where it saves
-- multiplications; the counted bytes are fewer where data stays in the caches.
-- @needs kernel,counters
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured Which ceilings: measured or attribute (of the device); the other where there is none.
-- @view bars x=index y=flops,dram_read_bytes,dram_write_bytes
-- @view table caption=batch columns=index,layer,type,flops,analytic_flops,dram_read_bytes,dram_write_bytes
-- @view table columns=analytic_bytes,counted by=flops top=20
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text What the framework calls the layer.
-- @column type text Its operator.
-- @column flops flops Counted floating-point operations in one inference.
-- @column dram_read_bytes bytes Read from the device's memory.
-- @column dram_write_bytes bytes Written to the device's memory.
-- @column analytic_flops flops What the layer's shapes ask for; empty: unknown.
-- @column analytic_bytes bytes Its inputs, weights and outputs, each once; empty: unknown.
-- @column flops_ratio ratio Counted / analytic flops.
-- @column bytes_ratio ratio Counted / analytic bytes.
-- @column uncounted_pct pct Share of its kernels' latency whose counters are not known.
-- @column counted text Why some are not known.
SELECT batch, ordinal AS index, name AS layer, type, flops, dram_read_bytes, dram_write_bytes, analytic_flops,
  analytic_bytes, flops / nullif(analytic_flops, 0) AS flops_ratio,
  dram_bytes / nullif(analytic_bytes, 0) AS bytes_ratio,
  pct(coalesce(uncounted_ns, 0), kernel_ns) AS uncounted_pct, uncounted_why AS counted
FROM layer_kernels(CAST($batch AS INTEGER), $peaks)
WHERE kernels > 0
ORDER BY coalesce(ordinal, 2147483647), first, name
