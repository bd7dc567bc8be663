-- @id x2
-- @name overhead_by_level
-- @title Overhead by level
-- @question How much does recording a level slow the levels above it?
-- A profiler is exact for the deepest level that it records. What a further level adds is the difference
-- between two runs that differ in that level alone. Their blocks were interleaved, so it is taken block by
-- block, between medians of the same round: what drifts more slowly than a round cancels. The interval is
-- that of the differences' median, by order statistics; it takes six rounds. Events of the level layer are an
-- inference's outermost layers together.
-- @needs model,layer
-- @view bar x=batch,added_level,event_level y=overhead_ns low=low_ns high=high_ns colour=added_level
-- @view table columns=batch,added_level,event_level,without_ns,with_ns,overhead_ns,low_ns,high_ns,overhead_pct
-- @column batch count Inputs per inference.
-- @column added_level text The level that the second run recorded in addition.
-- @column event_level text The level whose events are compared.
-- @column without_ns ns Median of the events' latency in an inference, without the added level.
-- @column with_ns ns The same with the added level.
-- @column overhead_ns ns Median of the paired differences.
-- @column low_ns ns Lower end of its 95 % interval; empty below six rounds.
-- @column high_ns ns Upper end of its 95 % interval.
-- @column overhead_pct pct Overhead relative to without_ns.
-- @column rounds count Pairs of blocks.
WITH inference AS (
  SELECT r.batch, r.level AS run_level, r.run_id, s.level AS event_level,
    s.iteration, sum(s.duration_ns) AS total_ns
  FROM measured_run r JOIN span s USING (run_id)
  WHERE s.level BETWEEN 2 AND r.level AND s.depth = 0 AND s.iteration >= 0 AND s.device IS NULL
    AND s.iteration < r.end_iteration
  GROUP BY ALL),
round AS (
  SELECT i.batch, i.run_level, i.event_level, b.block, median(i.total_ns) AS median_ns
  FROM inference i ASOF JOIN block b ON i.run_id = b.run_id AND i.iteration >= b.first_iteration
  GROUP BY ALL),
shallower AS (
  SELECT batch, level, lag(level) OVER (PARTITION BY batch ORDER BY level) AS level_before
  FROM measured_run WHERE level >= 2),
paired AS (
  SELECT p.batch, p.level, w.event_level, list_sort(list(w.median_ns - o.median_ns)) AS differences,
    median(o.median_ns) AS without_ns, median(w.median_ns) AS with_ns
  FROM shallower p
    JOIN round w ON w.batch = p.batch AND w.run_level = p.level AND w.event_level <= p.level_before
    JOIN round o ON o.batch = p.batch AND o.run_level = p.level_before AND o.event_level = w.event_level
      AND o.block = w.block
  GROUP BY ALL)
SELECT batch, level_name(level) AS added_level, level_name(event_level) AS event_level, without_ns, with_ns,
  quantile_of(differences, 0.5) AS overhead_ns, interval_low(differences) AS low_ns,
  interval_high(differences) AS high_ns, pct(quantile_of(differences, 0.5), without_ns) AS overhead_pct,
  len(differences) AS rounds
FROM paired
ORDER BY batch, level, paired.event_level
