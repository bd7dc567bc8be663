-- @title Imbalance between ranks
-- @rule Some ranks wait in communication for ranks that arrive late.
-- @needs watched
-- If a rank communicates for longer than the last rank, it waits for the last rank for the difference.
-- Communication in a step is not always within a call of the model: that of a backward pass is not.
WITH step AS (
  SELECT process, count(*) AS steps, min(start_ns) AS start_ns, max(start_ns + duration_ns) AS end_ns
  FROM finding_steps WHERE run_id = finding_run_id() AND part = 'steady' GROUP BY process),
each AS (
  SELECT s.process, sum(s.duration_ns) / any_value(steps) AS ns
  FROM span s JOIN step t ON t.process = s.process AND s.start_ns >= t.start_ns AND s.start_ns < t.end_ns
  WHERE s.run_id = finding_run_id() AND s.level = 6 AND is_communication(s.name) GROUP BY s.process)
SELECT printf('Of %d ranks one communicates for %s a step and another for %s: they wait for process %d, which is last.',
    count(*), time_text(max(ns)), time_text(min(ns)), min_by(process, ns)) AS finding,
  'kernel' AS level, avg(ns) - min(ns) AS gain_ns,
  'Give every rank the same work: batches of the same size and length, the same layers, the same hardware and load.'
    AS advice, 'training_phases' AS evidence,
  'The communication of all ranks must take the same time.' AS check,
  concat('process ', min_by(process, ns)) AS culprit, NULL AS layer
FROM each HAVING count(*) > 1
