-- @id x2
-- @name overhead_by_level
-- @title Overhead by level
-- @question How much does recording a level slow the levels above it?
-- A profiler is exact for the deepest level that it records. The overhead of a further level is the difference between
-- two runs that differ only in that level. It is the difference between the two means over typical inferences in the
-- same row. The blocks of the two runs were measured in turns, and the interval is that of the difference. The
-- residuals of the two blocks of a round are subtracted before they are squared, so drift that is slower than a round
-- cancels. The interval needs six rounds. An event of the level layer is all outermost layers of an inference together,
-- in the time of the host. If a CUDA graph launches a part of the layers, only the layers that the host launches itself
-- in every run are compared, and `left_out` counts the others: those in the graph have a time on the device alone, and
-- it is known only with the level kernel. So the times differ from the layers' times in other analyses, which are the
-- device's. If the graph has all layers, none are compared.
-- @needs model,layer
-- @view bar x=batch,added_level,event_level y=overhead_ns low=low_ns high=high_ns colour=added_level
-- @view table columns=batch,added_level,event_level,without_ns,with_ns,overhead_ns,low_ns,high_ns,overhead_pct,left_out
-- @column batch count Inputs per inference.
-- @column added_level text The level that the second run recorded in addition.
-- @column event_level text The level whose events are compared.
-- @column without_ns ns Time of the events in one inference, without the added level.
-- @column with_ns ns Time of the events in one inference, with the added level.
-- @column overhead_ns ns with_ns - without_ns.
-- @column low_ns ns Lower end of the overhead's 95 % interval; empty below six rounds.
-- @column high_ns ns Upper end of the overhead's 95 % interval.
-- @column overhead_pct pct Overhead relative to without_ns.
-- @column left_out count Outermost layers that the events leave out, because a CUDA graph launches them.
-- @column rounds count Number of rounds in which both runs were measured.
WITH outermost AS MATERIALIZED (
  SELECT r.batch, s.run_id, s.site_id, any_value(s.name) AS name, s.device IS NULL AS on_host
  FROM measured_run r JOIN layer_run l ON l.batch = r.batch AND l.on_device JOIN span s ON s.run_id = r.run_id
  WHERE r.level >= 3 AND s.level = 3 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open
  GROUP BY ALL),
compared_layer AS (
  SELECT batch, name FROM outermost WHERE on_host GROUP BY batch, name
  HAVING count(DISTINCT run_id) = (
    SELECT count(*) FROM measured_run r WHERE r.batch = outermost.batch AND r.level >= 3)),
other_site AS MATERIALIZED (FROM outermost ANTI JOIN compared_layer USING (batch, name)),
other AS (SELECT batch, count(DISTINCT name) AS left_out FROM other_site GROUP BY batch),
part AS (
  SELECT run_id, block, count(*) AS n, count(*) FILTER (is_below) AS below, count(*) FILTER (is_above) AS above
  FROM measured_inference GROUP BY ALL),
whole AS (
  SELECT run_id, count(*) AS n, count(*) FILTER (is_typical) AS typical, count(*) FILTER (is_near_low) AS near_low,
    count(*) FILTER (is_near_high) AS near_high
  FROM measured_inference GROUP BY run_id),
recorded AS (
  SELECT r.run_id, s.level, i.block, sum(s.duration_ns) AS typical_ns,
    coalesce(sum(s.duration_ns) FILTER (is_near_low), 0) AS near_low_ns,
    coalesce(sum(s.duration_ns) FILTER (is_near_high), 0) AS near_high_ns
  FROM measured_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
    ANTI JOIN other_site o ON o.run_id = s.run_id AND o.site_id = s.site_id AND s.level = 3
  WHERE s.level BETWEEN 3 AND r.level AND s.depth = 0 AND s.device IS NULL AND NOT s.is_open AND i.is_typical
  GROUP BY ALL),
-- The events' time depends on the inference. For a dropped inference, their mean next to the same fence is used.
event AS (
  SELECT e.run_id, e.level, sum(typical_ns) / any_value(typical) AS mean_ns,
    sum(near_low_ns) / any_value(near_low) AS low_ns, sum(near_high_ns) / any_value(near_high) AS high_ns
  FROM recorded e JOIN whole USING (run_id) GROUP BY ALL),
winsorised AS (
  SELECT e.run_id, e.level, p.block, p.n, coalesce(r.typical_ns, 0) + p.below * e.low_ns + p.above * e.high_ns AS sum_ns
  FROM event e JOIN part p USING (run_id)
    LEFT JOIN recorded r ON r.run_id = e.run_id AND r.level = e.level AND r.block = p.block),
residual AS (
  SELECT w.run_id, w.level, w.block,
    (sum_ns - w.n * sum(sum_ns) OVER (PARTITION BY w.run_id, w.level) / whole.n) / whole.typical AS residual_ns
  FROM winsorised w JOIN whole USING (run_id)
  UNION ALL
  SELECT run_id, 2, block, residual_ns FROM latency_residual),
mean AS (
  SELECT run_id, level, mean_ns FROM event UNION ALL SELECT run_id, 2, latency_ns FROM run_latency),
pair AS (
  SELECT batch, run_id, level, lag(run_id) OVER shallow AS run_before, lag(level) OVER shallow AS level_before
  FROM measured_run WHERE level >= 2 WINDOW shallow AS (PARTITION BY batch ORDER BY level)),
compared AS (
  SELECT p.*, w.level AS event_level, o.mean_ns AS without_ns, w.mean_ns AS with_ns
  FROM pair p JOIN mean w ON w.run_id = p.run_id JOIN mean o ON o.run_id = p.run_before AND o.level = w.level
  WHERE w.level <= p.level_before),
difference AS (
  SELECT run_id, event_level, block, sum(residual_ns) AS residual_ns, count(*) AS sides FROM (
    SELECT c.run_id, c.event_level, r.block, r.residual_ns
    FROM compared c JOIN residual r ON r.run_id = c.run_id AND r.level = c.event_level
    UNION ALL
    SELECT c.run_id, c.event_level, r.block, -r.residual_ns
    FROM compared c JOIN residual r ON r.run_id = c.run_before AND r.level = c.event_level)
  GROUP BY ALL),
width AS (
  SELECT run_id, event_level, count(*) FILTER (sides = 2) AS rounds,
    CASE WHEN count(*) FILTER (sides = 2) >= 6 THEN half_width(list(residual_ns)) END AS half_ns
  FROM difference GROUP BY ALL)
SELECT batch, level_name(level) AS added_level, level_name(event_level) AS event_level, without_ns, with_ns,
  with_ns - without_ns AS overhead_ns, with_ns - without_ns - half_ns AS low_ns,
  with_ns - without_ns + half_ns AS high_ns, pct(with_ns - without_ns, without_ns) AS overhead_pct,
  CASE WHEN event_level = 3 THEN coalesce(left_out, 0) ELSE 0 END AS left_out, rounds
FROM compared JOIN width USING (run_id, event_level) LEFT JOIN other USING (batch)
ORDER BY batch, level, compared.event_level
