-- @id x5
-- @name layer_flops
-- @title Analytic flops and bytes of the layers
-- @question How much must each layer compute and move, according to its shapes?
-- Flops and bytes follow from the operator and the shapes of its inputs and outputs; no hardware counter is used. A
-- fused multiply-add counts as 2, and special functions count as 0. Bytes are those of the inputs, weights and
-- outputs, each once. Nested layers are counted once, in the outermost layer that is known. The layers inside it and
-- the modules around it have no flops of their own, as `flops_in` says. A layer whose operator or shapes are unknown
-- has empty flops, not zero. Its row names the missing part, and its share of the time shows how much the totals leave
-- out. For a training, the rows are the model's own calls, the forward passes. The file also has the shapes of the
-- backward passes' operators, but no flops are computed for them.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=flops colour=type
-- @view table caption=batch columns=index,name,type,flops,bytes,flops_share_pct,time_share_pct,unknown
-- @view table by=flops top=20 bar=flops_share_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column inputs text Shapes of the layer's inputs, including the weights.
-- @column outputs text Shapes of the layer's outputs.
-- @column flops flops Floating-point operations in one inference; empty: unknown, or counted elsewhere.
-- @column bytes bytes Bytes that must cross the memory in one inference; empty: unknown, or counted elsewhere.
-- @column flops_share_pct pct Share in the flops of all layers that are known.
-- @column time_share_pct pct Share in the time of all layers: of their kernels, if these were recorded, or their own.
-- @column unknown text The missing part, if flops or bytes are unknown: operator, shapes, or types.
-- @column flops_in text The layer that counts the flops: itself, an outer one, inner ones; empty: unknown.
SELECT batch, ordinal AS index, name, type, shape_text(inputs) AS inputs, shape_text(outputs) AS outputs, flops,
  bytes, pct(flops, sum(flops) OVER ()) AS flops_share_pct,
  CASE WHEN flops_in IS DISTINCT FROM 'outer' THEN
    CASE WHEN count(kernel_ns) OVER () > 0 THEN pct(coalesce(kernel_ns, 0), sum(kernel_ns) OVER ())
         ELSE pct(cost_ns, sum(self_ns) OVER ()) END END AS time_share_pct,
  unknown, flops_in
FROM layer_roof
ORDER BY ordinal
