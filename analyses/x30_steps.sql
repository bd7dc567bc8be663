-- @id x30
-- @name steps
-- @title Steps of a program
-- @question Which steps does the program repeat, what did the first ones cost, and how steady are the others?
-- Steps are what the program marks (xsp_step), else the steps of its optimiser, else the outermost calls of its model.
-- The first step is shown by itself: it compiles, tries kernels out, and allocates. Warm-up are the further ones before
-- the first measured iteration; where none is numbered, those at the beginning that take more than 1.5 times the
-- median of the later half. Steady are the others, for each set of levels that was recorded: what was recorded slows
-- a step, so the row with the fewest levels is nearest to the program alone. Steps far out of the others (above the
-- third quartile by more than three times the distance between the quartiles) are slow; the median minds them little.
-- @needs steps
-- @view table columns=program,found_by,part,level,steps,step_ns,low_ns,high_ns,extra_ns,slow_steps,slowest_ns
-- @view table columns=layers_ns,allocation_ns,total_ns,first_step,last_step,slowest_step,process
-- @column process number The process that ran them.
-- @column program text Its program.
-- @column found_by text What tells of them: mark, optimizer, model.
-- @column part text first, warm-up, steady.
-- @column level text The deepest level that was recorded meanwhile.
-- @column steps count How many.
-- @column first_step number The first of them: steps of a process count from 0.
-- @column last_step number The last of them.
-- @column step_ns ns Median of their time.
-- @column low_ns ns Lower end of its 95 % interval; empty below six steps.
-- @column high_ns ns Upper end of its 95 % interval.
-- @column total_ns ns Time of all of them.
-- @column extra_ns ns What they took beyond the steady median; of steady ones, what the slow ones did.
-- @column slow_steps count How many of the steady ones are far out of the others.
-- @column slowest_step number The one that took longest.
-- @column slowest_ns ns Its time.
-- @column layers_ns ns Time of a step in its outermost layers, of all threads together: median; empty: not recorded.
-- @column allocation_ns ns Time of a step in calls that allocate or free device memory: mean; empty: not recorded.
WITH kind_of AS (
  SELECT run_id, site_id, any_value(value) AS kind FROM site_attribute WHERE key = 'step_of' GROUP BY ALL),
recorded AS (
  SELECT run_id, deepest_level(levels) AS level FROM run
  WHERE status <> 'failed' AND NOT has_counters(counters)),
known AS (
  SELECT s.run_id, s.process, k.kind, list_position(['model', 'optimizer', 'mark'], k.kind) AS strength,
    try_cast(a.value AS BIGINT) AS number, s.start_ns, s.start_ns + s.duration_ns AS end_ns
  FROM span s JOIN kind_of k USING (run_id, site_id)
    LEFT JOIN span_attribute a ON a.run_id = s.run_id AND a.span_id = s.span_id AND a.key = 'step'
  WHERE s.level = 1 AND s.type = 'step' AND NOT s.is_open),
-- Where the recording has not told of any, calls of the model are the steps.
found AS (
  FROM known
  UNION ALL BY NAME
  SELECT run_id, process, 'model' AS kind, 1 AS strength,
    row_number() OVER (PARTITION BY process ORDER BY start_ns) - 1 AS number, start_ns, start_ns + duration_ns AS end_ns
  FROM span WHERE level = 2 AND depth = 0 AND NOT is_open AND device IS NULL
    AND process NOT IN (SELECT process FROM known)),
steady_from AS (
  SELECT run_id, process, min(start_ns) FILTER (iteration >= 0) AS steady_ns
  FROM span WHERE level = 2 AND depth = 0 AND iteration IS NOT NULL GROUP BY ALL),
step AS (
  SELECT f.run_id, r.level, f.process, f.kind, f.number, f.start_ns, f.end_ns,
    f.end_ns - f.start_ns AS duration_ns, w.run_id IS NOT NULL AS has_model, w.steady_ns,
    row_number() OVER (PARTITION BY f.process ORDER BY f.start_ns) AS nth,
    row_number() OVER of_run AS nth_of_run, count(*) OVER (PARTITION BY f.run_id, f.process) AS of_run
  FROM found f JOIN recorded r USING (run_id) LEFT JOIN steady_from w USING (run_id, process)
  WHERE f.strength = (SELECT max(strength) FROM found g WHERE g.process = f.process)
  WINDOW of_run AS (PARTITION BY f.run_id, f.process ORDER BY f.start_ns)),
usual AS (
  SELECT run_id, process, median(duration_ns) FILTER (2 * nth_of_run > of_run) AS usual_ns FROM step GROUP BY ALL),
slow_until AS (
  SELECT s.run_id, s.process, coalesce(min(nth_of_run) FILTER (duration_ns <= 1.5 * usual_ns), 1) AS steady_nth
  FROM step s JOIN usual USING (run_id, process) GROUP BY ALL),
-- How much of each step was in layers, and in calls that allocate.
inner_span AS (
  SELECT s.run_id, s.process, s.level, s.start_ns, s.duration_ns FROM span s JOIN recorded r USING (run_id)
  WHERE NOT s.is_open AND s.device IS NULL
    AND ((s.level = 3 AND s.depth = 0) OR (s.level = 5 AND s.type = 'allocation' AND r.level >= 5))),
spent AS (
  SELECT t.run_id, t.process, t.start_ns, sum(i.duration_ns) FILTER (i.level = 3) AS layers_ns,
    sum(i.duration_ns) FILTER (i.level = 5) AS allocation_ns
  FROM inner_span i ASOF JOIN step t ON i.run_id = t.run_id AND i.process = t.process AND i.start_ns >= t.start_ns
  WHERE i.start_ns < t.end_ns GROUP BY ALL),
placed AS (
  SELECT s.*, CASE WHEN nth = 1 THEN 'first'
      WHEN has_model AND coalesce(s.end_ns <= s.steady_ns, true) THEN 'warm-up'
      WHEN NOT has_model AND nth_of_run < steady_nth AND 2 * nth_of_run <= of_run THEN 'warm-up'
      ELSE 'steady' END AS part,
    CASE WHEN EXISTS (SELECT 1 FROM inner_span i WHERE i.run_id = s.run_id AND i.level = 3)
      THEN coalesce(spent.layers_ns, 0) END AS layers_ns,
    CASE WHEN s.level >= 5 THEN coalesce(spent.allocation_ns, 0) END AS allocation_ns
  FROM step s JOIN slow_until USING (run_id, process) LEFT JOIN spent USING (run_id, process, start_ns)),
quartile AS (
  SELECT run_id, process, median(duration_ns) AS median_ns,
    4 * quantile_cont(duration_ns, 0.75) - 3 * quantile_cont(duration_ns, 0.25) AS far_ns
  FROM placed WHERE part = 'steady' GROUP BY ALL),
-- The first steps are compared with steady ones of the same levels, if there are any.
least AS (
  SELECT p.process, min_by(q.median_ns, p.level) AS median_ns
  FROM placed p JOIN quartile q USING (run_id, process) GROUP BY p.process),
began AS (SELECT process, min(start_ns) AS start_ns FROM placed GROUP BY process),
program AS (SELECT process, max_by(name, start_ns) AS name FROM span WHERE level = 1 AND type = 'process' GROUP BY ALL)
SELECT p.process, any_value(program.name) AS program, any_value(p.kind) AS found_by, p.part,
  level_name(p.level) AS level, count(*) AS steps, min(p.number) AS first_step, max(p.number) AS last_step,
  median(p.duration_ns) AS step_ns,
  interval_low(list_sort(list(p.duration_ns))) AS low_ns, interval_high(list_sort(list(p.duration_ns))) AS high_ns,
  sum(p.duration_ns) AS total_ns,
  CASE WHEN p.part = 'steady' THEN coalesce(sum(p.duration_ns - q.median_ns) FILTER (p.duration_ns > q.far_ns), 0)
    ELSE sum(p.duration_ns - coalesce(q.median_ns, least.median_ns)) END AS extra_ns,
  CASE WHEN p.part = 'steady' THEN count(*) FILTER (p.duration_ns > q.far_ns) END AS slow_steps,
  min_by(p.number, (-p.duration_ns, p.number)) AS slowest_step, max(p.duration_ns) AS slowest_ns,
  median(p.layers_ns) AS layers_ns, avg(p.allocation_ns) AS allocation_ns
FROM placed p LEFT JOIN quartile q USING (run_id, process) LEFT JOIN least USING (process)
  LEFT JOIN program USING (process) JOIN began USING (process)
GROUP BY began.start_ns, p.process, p.run_id, p.part, p.level
ORDER BY began.start_ns, p.process, list_position(['first', 'warm-up', 'steady'], p.part), p.level, p.run_id
