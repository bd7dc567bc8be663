-- @title The layer farthest from its roof
-- @rule A layer takes longer than arithmetic and memory allow, and loses more time than any other layer.
-- @needs layer
WITH known AS (FROM finding_part WHERE is_known),
by_layer AS (
  SELECT layer, any_value(type) AS type, sum(ns) AS ns, allowed_text(sum(least_ns), sum(high_least_ns), sum(ns))
      AS allowed, sum(ns - least_ns) AS gain_ns, max_by(evidence, ns) AS evidence,
    sum(high_least_ns) > 0.5 * sum(ns) AS is_near
  FROM known GROUP BY layer ORDER BY sum(ns - least_ns) DESC, layer LIMIT 1),
-- The layer in the model's own names.
label AS (
  SELECT l.name, any_value(layer_label(l.name, source_layers)) AS label
  FROM finding_layer l LEFT JOIN layer_shapes((SELECT batch FROM finding_batch)) s USING (site_id) GROUP BY l.name),
-- If the type with the most time has only one layer, the finding about the type already covers it.
by_type AS (
  SELECT type, count(DISTINCT layer) AS layers FROM known GROUP BY type ORDER BY sum(ns) DESC, type LIMIT 1)
SELECT printf('%s (%s) takes %s and runs at %s of what arithmetic and memory allow.',
    label, type, whole_share(ns), allowed) AS finding, 'layer' AS level, share_in_step(gain_ns) AS gain_ns,
  'Look at this layer first: its shape, its layout, its kernels.' AS advice,
  evidence, concat('Compare its share of the ceilings in ', evidence, ', before and after.') AS check,
  layer AS culprit, layer
FROM by_layer JOIN label ON label.name = by_layer.layer
WHERE NOT EXISTS (FROM by_type WHERE by_type.type = by_layer.type AND layers = 1)
  AND NOT (is_watched() AND is_near)
