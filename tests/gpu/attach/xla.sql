-- Of an evaluation of a JAX program by `xsp run`: how much of the device's time in steady calls belongs to an
-- instruction of XLA of which it is known what it was made of, by its ranges. One row; the first column is that share.
WITH execution AS (
  SELECT * FROM span WHERE level = 6 AND device IS NOT NULL AND iteration >= 0),
known AS (
  SELECT DISTINCT run_id, span_id FROM span JOIN site_attribute a USING (run_id, site_id)
  WHERE level = 3 AND a.key = 'op_name' AND a.value <> ''),
total AS (
  SELECT count(*) AS executions, coalesce(sum(duration_ns), 0) AS all_ns,
    coalesce(sum(duration_ns) FILTER (layer_id IS NOT NULL), 0) AS in_layer_ns,
    coalesce(sum(duration_ns) FILTER ((run_id, layer_id) IN (SELECT (run_id, span_id) FROM known)), 0) AS known_ns
  FROM execution)
SELECT coalesce(round(100.0 * known_ns / nullif(all_ns, 0), 2), 0) AS known_percent,
  format('{} executions in steady calls, {:.3f} ms: {:.2f} % in an instruction, {:.2f} % in one with its operation',
    executions, all_ns / 1e6, coalesce(100.0 * in_layer_ns / nullif(all_ns, 0), 0),
    coalesce(100.0 * known_ns / nullif(all_ns, 0), 0)) AS line
FROM total
