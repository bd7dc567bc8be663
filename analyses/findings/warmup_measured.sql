-- @title Warm-up measured as work
-- @rule The first steps, which compile, try kernels out and allocate, are a large part of what the program measures.
-- @needs watched
-- The bound is on the mean step of the whole program without the first steps. A program that does many steps after its
-- first ones is assumed to know which of them it measures. Steps of all runs count; the other findings cover the time
-- of a steady step.
WITH part AS (
  SELECT count(*) FILTER (part <> 'steady') AS slow, count(*) AS steps, step_ns AS steady_ns,
    (sum(duration_ns) FILTER (part <> 'steady') + step_ns * count(*) FILTER (part = 'steady')) / count(*) AS mean_ns,
    sum(duration_ns) FILTER (part <> 'steady') AS slow_ns
  FROM finding_steps, finding_step GROUP BY step_ns)
SELECT printf('The first %d of %d steps take %s, and lengthen the mean step to %s; a steady one takes %s.', slow, steps,
    time_text(slow_ns), time_text(mean_ns), time_text(steady_ns)) AS finding,
  'application' AS level, (mean_ns - steady_ns) * step_ns / mean_ns AS gain_ns,
  'Leave the first steps out of what is measured: begin to count when they are over, and do more steps.' AS advice,
  'steps' AS evidence, 'The steps of the part first and warm-up in steps must lie before what is measured.' AS check,
  'the first steps' AS culprit, NULL AS layer
FROM part, finding_step WHERE slow < steps AND steps >= 5 AND slow >= 0.2 * steps AND mean_ns > 1.5 * steady_ns
