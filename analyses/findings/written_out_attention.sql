-- @title Attention written out
-- @rule Attention is computed product by product, and the matrix of its scores goes through memory.
-- @needs layer
-- Finds batched products and a softmax in a model that uses no fused attention: each of them reads or writes the
-- scores. The masks, scales and copies between them, in the same module, do so as well. The products with weights
-- before and behind them do not, and stay in a fused attention.
WITH work AS (
  SELECT *, regexp_replace(layer, '[^/]*$', '') AS module,
    cause = 'compute' AND regexp_matches(lower(concat(culprit, ' ', layer)), 'bmm|attn|attention')
      AND NOT is_projection(layer) AS is_product
  FROM finding_time),
attention AS (
  SELECT sum(ns) AS ns, first(layer ORDER BY ns DESC, layer) FILTER (kind = 'softmax') AS layer
  FROM work
  WHERE kind = 'softmax' OR is_product OR ((kind = 'elementwise' OR cause = 'copy')
    AND module IN (SELECT module FROM work WHERE kind = 'softmax'))
  HAVING count(*) FILTER (is_product) > 0)
SELECT concat('Attention is written out as products and a softmax (', layer, '), which take ', step_share(ns),
    ': its scores go through memory.') AS finding,
  'layer' AS level, ns AS gain_ns,
  CASE WHEN contains(layer, 'scaled_dot_product_attention')
    THEN concat(layer, ' computes products here: find out what keeps it from a fused kernel (a mask, the data type, ',
      'sizes that are not multiples of 8, a backend that is switched off).')
    ELSE concat('Use a fused attention', CASE WHEN offered_compiler() = 'torch.compile'
        THEN ' (scaled_dot_product_attention)' ELSE '' END, ' in place of ', layer,
      ' and the products around it: it keeps the scores on the chip.') END AS advice,
  'time_of_step' AS evidence,
  CASE WHEN contains(layer, 'scaled_dot_product_attention') THEN concat(layer, ' must run a kernel of its own.')
    ELSE concat(layer, ' must be gone from the layers, and a fused attention must take less than it and its products.')
    END AS check, layer AS culprit, layer
FROM attention
WHERE layer IS NOT NULL AND NOT EXISTS (FROM work WHERE kind = 'attention')
  AND NOT regexp_matches(lower(layer), 'loss|log_softmax')
