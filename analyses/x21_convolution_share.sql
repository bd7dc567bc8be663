-- @id x21
-- @name convolution_share
-- @title Share of convolution
-- @question How much of the model is convolution?
-- The shares are those of the layers' latency (layer run), of their kernels' latency (kernel run), of flops, and of
-- accesses to the device's memory (counter runs, or else the layers' shapes). A figure that was not measured has no
-- row. Kernels outside of all layers are in the totals.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=figure,source,convolution,total,share_pct bar=share_pct
-- @column batch count Inputs per inference.
-- @column figure text The figure: latency, kernel latency, flops or accesses.
-- @column source text Source of the figure: counted, or by shapes; for a latency, its clock.
-- @column layers count Number of convolution layers.
-- @column convolution by:unit Sum over the layers whose operator is a convolution, including fused ones.
-- @column total by:unit Sum over all layers.
-- @column share_pct pct Share of convolution in total.
-- @column unit text Unit of convolution and total: ns, flops or bytes.
WITH wanted AS (SELECT chosen_batch(3, CAST($batch AS INTEGER)) AS batch),
layer AS MATERIALIZED (
  SELECT *, is_convolution(type) AS is_conv FROM layer_cost),
own AS MATERIALIZED (
  SELECT layer, sum(latency_ns) AS kernel_ns, sum(flops) AS flops, sum(dram_bytes) AS bytes
  FROM kernel_fact GROUP BY layer),
joined AS (SELECT own.*, coalesce(l.is_conv, false) AS is_conv FROM own LEFT JOIN layer l ON l.name = own.layer),
line AS (
  SELECT 1 AS line, 'latency' AS figure, any_value(time_of) AS source, sum(self_ns) FILTER (is_conv) AS convolution,
    sum(self_ns) AS total, 'ns' AS unit FROM layer
  UNION ALL
  SELECT 2, 'kernel latency', 'device', sum(kernel_ns) FILTER (is_conv), sum(kernel_ns), 'ns' FROM joined
  UNION ALL
  SELECT 3, 'flops', 'counted', sum(flops) FILTER (is_conv), sum(flops), 'flops' FROM joined
  UNION ALL
  SELECT 4, 'flops', 'by shapes', sum(flops) FILTER (is_conv), sum(flops), 'flops' FROM layer
  UNION ALL
  SELECT 5, 'accesses', 'counted', sum(bytes) FILTER (is_conv), sum(bytes), 'bytes' FROM joined
  UNION ALL
  SELECT 6, 'accesses', 'by shapes', sum(bytes) FILTER (is_conv), sum(bytes), 'bytes' FROM layer)
SELECT (SELECT batch FROM wanted) AS batch, figure, source, (SELECT count(*) FROM layer WHERE is_conv) AS layers,
  coalesce(convolution, 0) AS convolution, total, pct(coalesce(convolution, 0), total) AS share_pct, unit
FROM line
WHERE total IS NOT NULL
ORDER BY line
