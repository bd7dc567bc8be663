-- Invariants of any evaluation of `xsp run` with the levels api and kernel: one row for each invariant, with the number
-- of spans that violate it. A program launches and continues, so kernels may outlast the layers that launched them.
WITH execution AS (SELECT * FROM span WHERE level = 6 AND device IS NOT NULL),
launch AS (
  SELECT run_id, correlation_id, min(start_ns) AS start_ns FROM span
  WHERE level = 5 AND device IS NULL AND correlation_id IS NOT NULL GROUP BY ALL),
neighbour AS (
  SELECT start_ns - lag(start_ns + duration_ns) OVER (
    PARTITION BY run_id, process, device, stream ORDER BY start_ns) AS gap_ns
  FROM execution WHERE name <> 'memcpy HtoH')  -- the host's own work, beside the stream
SELECT 'kernels were recorded' AS invariant, CAST(count(*) = 0 AS BIGINT) AS offenders FROM execution
UNION ALL SELECT 'every execution has a launch', count(*) FILTER (l.correlation_id IS NULL)
  FROM execution e LEFT JOIN launch l USING (run_id, correlation_id)
UNION ALL SELECT 'every execution has a parent', count(*) FILTER (parent_id IS NULL) FROM execution
UNION ALL SELECT 'no launch without its execution', count(*) FROM (
    SELECT 1 FROM span c WHERE c.level = 5 AND c.type IN ('launch', 'graph_launch') AND c.correlation_id IS NOT NULL
    AND NOT EXISTS (FROM execution e WHERE e.run_id = c.run_id AND e.correlation_id = c.correlation_id))
-- The tolerance is two microseconds: the clocks of host and device are converted by sampling.
UNION ALL SELECT 'no execution starts before its launch', count(*) FILTER (e.start_ns < l.start_ns - 2000)
  FROM execution e JOIN launch l USING (run_id, correlation_id)
UNION ALL SELECT 'executions have a duration', count(*) FILTER (duration_ns <= 0 AND type = 'kernel') FROM execution
-- A kernel may begin before the one on which it depends has ended (programmatic dependent launch).
UNION ALL SELECT 'executions of a stream follow one another', count(*) FILTER (gap_ns < -5000) FROM neighbour
-- A stack that is deeper than is kept is told of as a loss, but no span or sample is missing.
UNION ALL SELECT 'nothing was dropped', (SELECT coalesce(sum(count), 0) FROM loss WHERE source <> 'stacks')
