-- @id x5
-- @name layer_flops
-- @title Analytic flops and bytes of the layers
-- @question How much must each layer compute and move, going by its shapes?
-- Flops and bytes follow from the operator and the shapes of its inputs and outputs; nothing is counted by
-- hardware. A fused multiply-add counts 2; special functions count nothing; bytes are those of inputs, weights
-- and outputs, each once. Where layers nest, they are counted once, in the outermost layer that is known: layers
-- inside it, and modules around it, have none of their own, as `flops_in` says. A layer whose operator or shapes are
-- unknown has no flops here, rather than zero: it is listed with what is missing, and its share of the time tells what
-- the totals leave out. Of a training, these are the model's own calls, the forward passes: of backward passes the
-- operators' shapes are in the file, and no flops are given.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=flops colour=type
-- @view table caption=batch columns=index,name,type,flops,bytes,flops_share_pct,time_share_pct,unknown
-- @view table by=flops top=20 bar=flops_share_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column inputs text Shapes of its inputs, weights among them.
-- @column outputs text Shapes of its outputs.
-- @column flops flops Floating-point operations in one inference; empty: unknown, or counted elsewhere.
-- @column bytes bytes Bytes that must cross the memory in one inference; empty: unknown, or counted elsewhere.
-- @column flops_share_pct pct Share in the flops of all layers that are known.
-- @column time_share_pct pct Share in the time of all layers, of what its flops stand for; else of its own time.
-- @column unknown text What is missing where flops or bytes are unknown: operator, shapes, or types.
-- @column flops_in text Where they are counted: itself, an outer layer, inner ones; empty: nowhere, they are unknown.
SELECT batch, ordinal AS index, name, type, shape_text(inputs) AS inputs, shape_text(outputs) AS outputs, flops,
  bytes, pct(flops, sum(flops) OVER ()) AS flops_share_pct,
  CASE WHEN flops_in IS DISTINCT FROM 'outer' THEN pct(cost_ns, sum(self_ns) OVER ()) END AS time_share_pct,
  unknown, flops_in
FROM layer_costs(CAST($batch AS INTEGER))
ORDER BY ordinal
