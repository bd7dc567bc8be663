-- @title Work outside of the model
-- @rule A line of the loop, outside of the model's calls and of the phases of a training, takes much of the step.
-- @needs watched
-- The loop is the innermost function of the program in which its thread is almost always. All work that a line of it
-- calls is judged together, whatever the causes: metrics that are counted class by class are launches, kernels and
-- Python. Waiting for a device or for threads is left out, and so are lines that spend most of their time on causes
-- with rules of their own. The run that recorded least is used, because recording slows code that calls many operators.
-- For a program with a device, all runs are used that recorded the calls which wait for it.
WITH RECURSIVE told AS (
  SELECT run_id FROM run
  WHERE CASE WHEN is_on_device() THEN status <> 'failed' AND deepest_level(levels) >= 5
             ELSE run_id = (SELECT run_id FROM program_step) END),
frame AS (
  SELECT run_id, stack_id, parent_id, CASE WHEN kind = 'python' AND NOT is_of_library(file)
      THEN struct_pack(function := function, file := file, line := line) END AS own
  FROM stack WHERE run_id IN (FROM told)),
path AS (
  SELECT run_id, stack_id, list_filter([own], lambda one: one IS NOT NULL) AS own FROM frame WHERE parent_id IS NULL
  UNION ALL
  SELECT f.run_id, f.stack_id, CASE WHEN f.own IS NULL THEN p.own ELSE list_append(p.own, f.own) END
  FROM frame f JOIN path p ON p.run_id = f.run_id AND p.stack_id = f.parent_id),
looked AS MATERIALIZED (
  SELECT s.run_id, s.process, s.thread, s.time_ns, s.duration_ns, own,
    s.state = 'waiting' AND coalesce(s.waits_in = 'futex', false) AS is_futex
  FROM sample s ASOF JOIN finding_steps t
      ON t.run_id = s.run_id AND t.process = s.process AND coalesce(t.thread, 0) = s.thread AND s.time_ns >= t.start_ns
    JOIN path p ON p.run_id = s.run_id AND p.stack_id = s.stack_id
  WHERE s.run_id IN (FROM told) AND t.part = 'steady' AND s.time_ns < t.end_ns),
loop AS (
  SELECT one.function AS function, one.file AS file
  FROM (SELECT duration_ns, unnest(own) AS one, generate_subscripts(own, 1) AS nth FROM looked)
  GROUP BY ALL HAVING sum(duration_ns) >= 0.95 * (SELECT sum(duration_ns) FROM looked)
  ORDER BY max(nth) DESC LIMIT 1),
-- Calls of the model and phases, which may be nested in each other, and calls that wait for a device.
covered AS (
  SELECT s.run_id, coalesce(s.process, 0) AS process, coalesce(s.thread, 0) AS thread, s.start_ns, s.level = 5 AS waits,
    max(s.start_ns + s.duration_ns) OVER (PARTITION BY s.run_id, s.process, s.thread, s.level = 5 ORDER BY s.start_ns)
      AS end_ns
  FROM span s
  WHERE s.run_id IN (FROM told) AND s.device IS NULL AND NOT s.is_open
    AND (s.level = 2 OR (s.level = 1 AND s.type = 'phase')
      OR (s.level = 5 AND s.type IN ('synchronization', 'copy', 'allocation')))),
placed AS MATERIALIZED (
  SELECT k.*, coalesce(m.end_ns > k.time_ns, false) AS is_inside,
    is_futex OR coalesce(w.end_ns > k.time_ns, false) AS is_waiting
  FROM looked k
    ASOF LEFT JOIN (FROM covered WHERE NOT waits) m ON m.run_id = k.run_id AND m.process = k.process
      AND m.thread = k.thread AND k.time_ns >= m.start_ns
    ASOF LEFT JOIN (FROM covered WHERE waits) w ON w.run_id = k.run_id AND w.process = k.process
      AND w.thread = k.thread AND k.time_ns >= w.start_ns),
line AS (
  SELECT place_of(own[nth]) AS place, mode(own[nth + 1].function) AS called, sum(duration_ns) AS ns, count(*) AS looks,
    list_distinct(list(place_of(own[-1]))) AS places
  FROM (SELECT p.*, list_position(list_transform(own, lambda one: (one.function, one.file)),
          (l.function, l.file)) AS nth FROM placed p, loop l)
  WHERE NOT is_inside AND NOT is_waiting AND nth IS NOT NULL GROUP BY 1),
longest AS (
  SELECT place, called, places, ns / (SELECT sum(duration_ns) FROM placed) * step_ns AS ns
  FROM line, finding_step
  WHERE looks >= 10 AND EXISTS (FROM placed WHERE is_inside) AND NOT (SELECT bool_or(is_ahead) FROM program_step)
  ORDER BY line.ns DESC LIMIT 1)
SELECT concat('Outside of the model, the line ', place, ' takes ', step_share(ns), ', all that it calls together',
    ', mostly in ' || called, '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('See whether each step needs what ', place, ' does: do it once in many steps, on a part of the data, beside ',
    'the step, or with few operators on all of it at once.') AS advice,
  'functions' AS evidence, 'Without that line the step must become shorter by as much.' AS check,
  concat_ws(' ', called, place) AS culprit, NULL AS layer
FROM longest
WHERE ns >= 0.05 * (SELECT step_ns FROM finding_step)
  AND (SELECT coalesce(sum(t.ns), 0) FROM finding_time t
       WHERE list_contains(places, t.place) AND t.cause NOT IN ('compute', 'other kernels', 'copy', 'communication',
         'launch', 'framework', 'synchronisation', 'copy preparation', 'allocation', 'device',
         'descheduled')) < 0.7 * ns
