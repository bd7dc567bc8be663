-- Invariants of any evaluation with kernels, on any machine: one row for each invariant, with the number of spans that
-- violate it. Runs with counters replay their kernels: their times are left out, their places are not.
WITH kernel_run AS (
  SELECT run_id, coalesce(counters, '') <> '' AS counts FROM run
  WHERE status = 'ok' AND list_contains(string_split(levels, ','), 'kernel')),
-- Only measured inferences count: the work of a framework while it opens a model belongs to no layer.
execution AS (
  SELECT s.*, k.counts FROM span s JOIN kernel_run k USING (run_id)
  WHERE s.level = 6 AND s.device IS NOT NULL AND (s.iteration >= 0 OR s.iteration IS NULL)),
measured AS (SELECT * FROM execution WHERE iteration >= 0),
timed AS (SELECT * FROM measured WHERE NOT counts),
model AS (SELECT run_id, span_id AS model_id, start_ns, duration_ns FROM span WHERE level = 2),
launch AS (
  SELECT run_id, correlation_id, min(start_ns) AS start_ns FROM span
  WHERE level = 5 AND device IS NULL AND correlation_id IS NOT NULL GROUP BY ALL),
neighbour AS (
  SELECT name, lag(name) OVER stream AS before, start_ns - lag(start_ns + duration_ns) OVER stream AS gap_ns
  FROM timed WINDOW stream AS (PARTITION BY run_id, device, stream ORDER BY start_ns)),
-- Kernels that are launched to begin while the previous one ends (programmatic dependent launch, used by cuDNN and XLA)
-- usually overlap it; others never do.
dependent AS (SELECT before, name FROM neighbour GROUP BY ALL HAVING median(gap_ns) < 0),
per_inference AS (
  SELECT run_id, iteration, count(*) AS kernels FROM measured WHERE type = 'kernel' GROUP BY ALL),
line AS (
  SELECT 'kernels were recorded' AS invariant, CAST(count(*) = 0 AS BIGINT) AS offenders FROM measured
  UNION ALL SELECT 'every execution has a launch', count(*) FILTER (l.correlation_id IS NULL)
    FROM measured e LEFT JOIN launch l USING (run_id, correlation_id)
  UNION ALL SELECT 'every execution has a model', count(*) FILTER (model_id IS NULL) FROM measured
  UNION ALL SELECT 'every kernel has a layer', count(*) FILTER (type = 'kernel' AND layer_id IS NULL) FROM measured
  UNION ALL SELECT 'nothing was dropped',
    (SELECT coalesce(sum(count), 0) FROM loss JOIN kernel_run USING (run_id))
  UNION ALL SELECT 'no launch without its execution', count(*) FROM (
      SELECT 1 FROM span c JOIN kernel_run k USING (run_id)
      WHERE c.iteration >= 0 AND c.level = 5 AND c.type IN ('launch', 'graph_launch') AND NOT k.counts AND NOT EXISTS (
        FROM span e WHERE e.run_id = c.run_id AND e.correlation_id = c.correlation_id AND e.level = 6))
  -- The tolerance is two microseconds: the clocks of host and device are converted by sampling.
  UNION ALL SELECT 'no execution starts before its launch', count(*) FILTER (e.start_ns < l.start_ns - 2000)
    FROM timed e JOIN launch l USING (run_id, correlation_id)
  UNION ALL SELECT 'executions lie within their model', count(*) FILTER (
      e.start_ns < m.start_ns - 2000 OR e.start_ns + e.duration_ns > m.start_ns + m.duration_ns + 2000)
    FROM timed e JOIN model m USING (run_id, model_id)
  UNION ALL SELECT 'executions have a duration', count(*) FILTER (duration_ns <= 0 AND type = 'kernel') FROM timed
  UNION ALL SELECT 'executions of a stream follow one another', count(*) FILTER (gap_ns < -1000)
    FROM neighbour ANTI JOIN dependent USING (before, name)
  UNION ALL SELECT 'every inference has the same number of kernels', count(*) FROM (
      SELECT run_id FROM per_inference GROUP BY run_id HAVING min(kernels) <> max(kernels))
  UNION ALL SELECT 'counter runs have the kernels of the runs that time them', count(*) FROM (
      SELECT coalesce(r.batch, 1) AS batch FROM per_inference p JOIN run r USING (run_id) WHERE p.iteration = 1
      GROUP BY ALL HAVING min(p.kernels) <> max(p.kernels)))
SELECT invariant, offenders FROM line
