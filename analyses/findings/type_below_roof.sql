-- @title The type of layer with the most time
-- @rule The type of layer that takes the most time takes longer than arithmetic and memory allow.
-- @needs layer
WITH by_type AS (
  SELECT type, count(DISTINCT layer) AS layers, sum(ns) AS ns, allowed_text(sum(least_ns), sum(high_least_ns), sum(ns))
      AS allowed, sum(ns - least_ns) AS gain_ns, max_by(evidence, ns) AS evidence,
    sum(high_least_ns) > 0.5 * sum(ns) AS is_near
  FROM finding_part WHERE is_known GROUP BY type ORDER BY sum(ns) DESC, type LIMIT 1)
SELECT printf('%s takes %s (%d %s) and runs at %s of what arithmetic and memory allow.',
    type, whole_share(ns), layers, CASE layers WHEN 1 THEN 'layer' ELSE 'layers' END,
    allowed) AS finding, 'layer' AS level, share_in_step(gain_ns) AS gain_ns,
  'Look at those farthest from the roof: another algorithm, layout or library.' AS advice, evidence,
  concat('Compare the share of the ceilings that ', evidence, ' shows for each ', type, ', before and after.') AS check,
  type AS culprit, NULL AS layer
FROM by_type
WHERE NOT (is_watched() AND is_near)
