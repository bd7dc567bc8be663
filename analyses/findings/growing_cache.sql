-- @title A cache that grows by copying
-- @rule A concatenation copies tensors that grow from step to step.
-- @needs watched
-- A number behind its name distinguishes the executions of one layer.
WITH shape AS (
  SELECT regexp_replace(l.name, '#\d+$', '') AS base, count(DISTINCT a.value) AS shapes
  FROM layer_site l JOIN site_attribute a USING (run_id, site_id)
  WHERE l.run_id = finding_run_id() AND a.key = 'output_shapes' GROUP BY base),
growing AS (
  SELECT t.culprit, base AS layer, sum(ns) AS ns, max(shapes) AS shapes
  FROM finding_time t JOIN shape s ON s.base = regexp_replace(t.layer, '#\d+$', '')
  WHERE t.kind = 'concatenation' AND shapes >= 4 GROUP BY ALL),
whole AS (
  SELECT sum(ns) AS ns, first(layer ORDER BY ns DESC, layer) AS layer,
    first(culprit ORDER BY ns DESC, layer) AS culprit, max(shapes) AS shapes
  FROM growing HAVING count(*) > 0)
SELECT concat(blame_text(culprit, layer, NULL), ' gives a tensor of another size each time (', shapes,
    ' sizes were seen), and copies all of it: ', step_share(ns), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  concat('Allocate the cache once at its largest size, and write what is new into its place, instead of ', culprit,
    '.') AS advice,
  'time_of_step' AS evidence, concat('The time of ', culprit, ' in time_of_step must be gone.') AS check, culprit, layer
FROM whole
