-- @needs watched
-- The steps of a program that xsp watched, and what they are made of: loaded after prelude_1_facts.sql, whose tables
-- finding_step and finding_time it fills anew.

CREATE OR REPLACE TEMP TABLE finding_steps AS SELECT * FROM program_steps(true);
CREATE OR REPLACE TEMP TABLE finding_step_cause AS
  SELECT * FROM step_causes((SELECT batch FROM finding_batch))
    AS one(cause, culprit, layer, place, time_ns, hidden_ns, calls);
-- How long a step takes while nothing deeper is recorded than in the run that recorded least, but no less than the
-- device works in it; unless the host is ahead of the device, which then tells it.
CREATE OR REPLACE TEMP TABLE finding_program AS
  WITH least AS (
    SELECT avg(duration_ns) AS least_ns FROM (
      SELECT duration_ns FROM finding_steps WHERE part = 'steady' AND is_counted
      QUALIFY level = min(level) OVER ()))
  SELECT step_ns AS recorded_ns, inferences,
    CASE WHEN is_ahead THEN step_ns ELSE greatest(busy_ns, least(step_ns, coalesce(least_ns, step_ns))) END AS step_ns
  FROM program_step(), least, (SELECT coalesce(sum(time_ns), 0) AS busy_ns FROM finding_step_cause
    WHERE cause IN ('compute', 'memory', 'communication', 'copy')
      AND EXISTS (FROM span WHERE level = 6 AND device IS NOT NULL));
CREATE OR REPLACE TEMP TABLE finding_watched_step AS
  SELECT 'step' AS unit, step_ns, inferences FROM finding_program;
DELETE FROM finding_step WHERE EXISTS (FROM finding_watched_step);
INSERT INTO finding_step FROM finding_watched_step;
-- Large copies between pageable memory of the host and a device, by the layer that asks for them: a few bytes are not
-- worth pinning.
CREATE OR REPLACE TEMP TABLE finding_pageable AS
  SELECT l.name AS layer, count(*) AS copies, avg(c.value) AS bytes
  FROM span s JOIN site_attribute a USING (run_id, site_id)
    JOIN span_counter c ON c.run_id = s.run_id AND c.span_id = s.span_id AND c.name = 'bytes'
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE s.run_id = cause_run((SELECT batch FROM finding_batch)) AND s.level = 6 AND a.key = 'memory'
    AND a.value LIKE '%pageable%' AND a.value LIKE '%device%'
  GROUP BY l.name HAVING avg(c.value) >= 65536;
-- Layers that run nowhere but where a batch is prepared.
CREATE OR REPLACE TEMP TABLE finding_data_layer AS
  SELECT l.name
  FROM (SELECT DISTINCT run_id, site_id, name FROM span
        WHERE run_id = cause_run((SELECT batch FROM finding_batch)) AND level = 3) l
    LEFT JOIN site_attribute a ON a.run_id = l.run_id AND a.site_id = l.site_id AND a.key = 'phase'
  GROUP BY l.name HAVING bool_and(coalesce(a.value = 'data', false));
DELETE FROM finding_time;
INSERT INTO finding_time
  WITH whole AS (
    SELECT sum(time_ns) AS all_ns, coalesce(sum(time_ns) FILTER (cause IN ('launch', 'framework')), 0) AS launching_ns
    FROM finding_step_cause),
  -- Recording slows launching and the framework. This takes its cost off their time, and leaves a fifth at least.
  kept AS (
    SELECT *, least(step_ns, greatest(0.2 * launching_ns, launching_ns - (recorded_ns - step_ns))) AS kept_ns
    FROM whole, finding_program),
  cause AS (
  SELECT CASE WHEN c.cause IN ('compute', 'host code', 'framework')
        AND (contains(c.culprit, 'DataLoader') OR c.layer IN (SELECT name FROM finding_data_layer)) THEN 'data'
      ELSE c.cause END AS cause, c.culprit, c.layer, c.place, time_ns
      * CASE WHEN c.cause IN ('launch', 'framework') THEN kept_ns / launching_ns
             ELSE (step_ns - kept_ns) / nullif(all_ns - launching_ns, 0) END AS ns, calls,
    CASE WHEN c.cause IN ('copy', 'copy preparation', 'synchronisation') AND contains(lower(c.culprit), 'memcpy')
        AND EXISTS (FROM finding_pageable p WHERE p.layer IS NOT DISTINCT FROM c.layer) THEN 'pageable'
      WHEN c.layer IN (SELECT name FROM finding_data_layer) THEN NULL
      ELSE work_kind(c.culprit, c.layer) END AS kind
  FROM finding_step_cause c, kept)
  -- Launching that has a rule of its own is not told of twice: a convolution in which the framework works for a
  -- millisecond tries algorithms out; a module that torch.compile made compiles if it takes one; and an optimiser of
  -- many pieces.
  SELECT * REPLACE (CASE
      WHEN cause = 'framework' AND contains(lower(culprit), 'conv') AND ns > 1e6 * calls THEN 'autotuning'
      WHEN cause = 'host code' AND culprit = 'OptimizedModule' AND ns > 1e6 * calls THEN 'compilation'
      WHEN cause IN ('launch', 'framework') AND kind = 'optimizer'
        AND sum(calls) FILTER (kind = 'optimizer') OVER () >= 50 THEN 'optimizer' ELSE cause END AS cause)
  FROM cause;
-- Where the processes that prepare batches wait for a lock, and for which part of the time in which they have work.
CREATE OR REPLACE TEMP TABLE finding_lock AS
  WITH busy AS (
    SELECT s.duration_ns, f.place, f.own_function, s.state = 'waiting' AND s.waits_in = 'futex' AS is_waiting
    FROM sample s JOIN stack_facts(cause_run((SELECT batch FROM finding_batch))) f USING (stack_id)
    WHERE s.run_id = cause_run((SELECT batch FROM finding_batch)) AND s.thread = s.process AND f.place IS NOT NULL
      AND coalesce(s.waits_in, '') NOT IN ('poll', 'select', 'epoll_wait')
      AND s.process NOT IN (SELECT process FROM finding_steps))
  SELECT sum(duration_ns) FILTER (is_waiting) / sum(duration_ns) AS share,
    mode(own_function) FILTER (is_waiting) AS own_function, mode(place) FILTER (is_waiting) AS place
  FROM busy HAVING sum(duration_ns) FILTER (is_waiting) > 0.5 * sum(duration_ns);
