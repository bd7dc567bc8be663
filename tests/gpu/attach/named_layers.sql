-- Computes, for an evaluation by `xsp run` of a program that a compiler fused, how much of the device's time in steady
-- calls belongs to layers that name what they stand for (instructions of XLA, launches of Inductor), or to layers
-- inside those. In a replayed CUDA graph, the layers count that were inside such layers when it was captured. One row;
-- the first column is that share in percent. The copies of a graph's inputs to its own memory stand for no part of the
-- model.
WITH RECURSIVE execution AS (
  SELECT e.* FROM span e LEFT JOIN span l ON l.run_id = e.run_id AND l.span_id = e.layer_id
  WHERE e.level = 6 AND e.device IS NOT NULL AND e.iteration >= 0 AND l.name IS DISTINCT FROM '_foreach_copy_'),
named AS (
  SELECT run_id, span_id FROM span JOIN site_attribute a USING (run_id, site_id)
  WHERE level = 3 AND a.key = 'source_layers' AND a.value NOT IN ('', '[]')
  UNION
  SELECT s.run_id, s.span_id FROM span s JOIN named n ON s.run_id = n.run_id AND s.parent_id = n.span_id
  WHERE s.level = 3),
either AS (
  FROM named UNION
  SELECT run_id, span_id FROM span WHERE level = 3 AND device IS NOT NULL AND (run_id, site_id) IN (
    SELECT (run_id, site_id) FROM span JOIN named USING (run_id, span_id))),
total AS (
  SELECT count(*) AS executions, coalesce(sum(duration_ns), 0) AS all_ns,
    coalesce(sum(duration_ns) FILTER (layer_id IS NOT NULL), 0) AS in_layer_ns,
    coalesce(sum(duration_ns) FILTER (n.span_id IS NOT NULL), 0) AS named_ns
  FROM execution e LEFT JOIN either n ON n.run_id = e.run_id AND n.span_id = e.layer_id)
SELECT coalesce(round(100.0 * named_ns / nullif(all_ns, 0), 2), 0) AS named_percent,
  format('{} executions in steady calls, {:.3f} ms: {:.2f} % in a layer, {:.2f} % in one that says what it stands for',
    executions, all_ns / 1e6, coalesce(100.0 * in_layer_ns / nullif(all_ns, 0), 0),
    coalesce(100.0 * named_ns / nullif(all_ns, 0), 0)) AS line
FROM total
