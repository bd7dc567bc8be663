-- @id x30
-- @name steps
-- @title Steps of a program
-- @question Which steps does the program repeat, what did the first ones cost, and how steady are the others?
-- Steps are what the program marks (xsp_step), else the steps of its optimiser, else the outermost calls of its model.
-- The first step is shown by itself: it compiles, tries kernels out, and allocates. Warm-up are the further ones before
-- the first measured iteration; where none is numbered, those at the beginning that take more than 1.5 times the
-- median of the later half. Steady are the others, for each set of levels that was recorded: what was recorded slows
-- a step, so the row with the fewest levels is nearest to the program alone. Steps far out of the others (above the
-- third quartile by more than three times the distance between the quartiles) are slow.
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
-- @column step_ns ns Mean over the typical ones (a fifth is left out at each end).
-- @column low_ns ns Lower end of its 95 % interval over twenty consecutive parts; empty below six steps.
-- @column high_ns ns Upper end of its 95 % interval.
-- @column total_ns ns Time of all of them.
-- @column extra_ns ns What they took beyond steady ones; of steady ones, what the slow ones did.
-- @column slow_steps count How many of the steady ones are far out of the others.
-- @column slowest_step number The one that took longest.
-- @column slowest_ns ns Its time.
-- @column layers_ns ns Time of a typical step in its outermost layers, of all threads; empty: not recorded.
-- @column allocation_ns ns Time of a step in calls that allocate or free device memory: mean; empty: not recorded.
WITH step AS MATERIALIZED (FROM program_steps()),
recorded AS (SELECT DISTINCT run_id, level FROM step),
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
  SELECT s.*,
    CASE WHEN EXISTS (SELECT 1 FROM inner_span i WHERE i.run_id = s.run_id AND i.level = 3)
      THEN coalesce(spent.layers_ns, 0) END AS layers_ns,
    CASE WHEN s.level >= 5 THEN coalesce(spent.allocation_ns, 0) END AS allocation_ns
  FROM step s LEFT JOIN spent USING (run_id, process, start_ns)),
steady AS (
  SELECT run_id, process, avg(duration_ns) FILTER (is_typical) AS steady_ns,
    4 * quantile_cont(duration_ns, 0.75) - 3 * quantile_cont(duration_ns, 0.25) AS far_ns
  FROM placed WHERE part = 'steady' GROUP BY ALL),
-- The first steps are compared with steady ones of the same levels, if there are any.
least AS (
  SELECT p.process, min_by(q.steady_ns, p.level) AS steady_ns
  FROM placed p JOIN steady q USING (run_id, process) GROUP BY p.process),
began AS (SELECT process, min(start_ns) AS start_ns FROM placed GROUP BY process),
program AS (SELECT process, max_by(name, start_ns) AS name FROM span WHERE level = 1 AND type = 'process' GROUP BY ALL),
line AS (
  SELECT p.process, any_value(program.name) AS program, any_value(p.kind) AS found_by, p.part,
    p.level AS level_number, count(*) AS steps, min(p.number) AS first_step, max(p.number) AS last_step,
    avg(p.duration_ns) FILTER (is_typical) AS step_ns,
    CASE WHEN p.part = 'steady' THEN list(p.duration_ns ORDER BY p.start_ns) END AS in_order,
    sum(p.duration_ns) AS total_ns,
    CASE WHEN p.part = 'steady' THEN coalesce(sum(p.duration_ns - q.steady_ns) FILTER (p.duration_ns > q.far_ns), 0)
      ELSE sum(p.duration_ns - coalesce(q.steady_ns, least.steady_ns)) END AS extra_ns,
    CASE WHEN p.part = 'steady' THEN count(*) FILTER (p.duration_ns > q.far_ns) END AS slow_steps,
    min_by(p.number, (-p.duration_ns, p.number)) AS slowest_step, max(p.duration_ns) AS slowest_ns,
    avg(p.layers_ns) FILTER (is_typical) AS layers_ns, avg(p.allocation_ns) AS allocation_ns,
    any_value(began.start_ns) AS began_ns, p.run_id
  FROM placed p LEFT JOIN steady q USING (run_id, process) LEFT JOIN least USING (process)
    LEFT JOIN program USING (process) JOIN began USING (process)
  GROUP BY p.process, p.run_id, p.part, p.level)
SELECT process, program, found_by, part, level_name(level_number) AS level, steps, first_step, last_step, step_ns,
  step_ns - typical_half_width(in_order) AS low_ns, step_ns + typical_half_width(in_order) AS high_ns, total_ns,
  extra_ns, slow_steps, slowest_step, slowest_ns,
  layers_ns, allocation_ns
FROM line
ORDER BY began_ns, process, list_position(['first', 'warm-up', 'steady'], part), level_number, run_id
