-- @id x30
-- @name steps
-- @title Steps of a program
-- @question Which steps does the program repeat, how long do the first ones take, and how steady are the others?
-- Steps are the marks of the program (xsp_step), or else the steps of its optimiser, or else the outermost NVTX ranges
-- of one name that fill most of its time, or else the outermost calls of its model. The first step has a row of its
-- own: it compiles, tries kernels out, and allocates. Warm-up steps are the further steps before the first measured
-- iteration. If no iteration is numbered, they are the steps at the beginning that take more than 1.5 times the median
-- of the later half. Steady steps are the others, with one row for each set of levels that was recorded. Recording
-- slows a step, so the row with the fewest levels is closest to the program alone. A step is slow if it lies above the
-- third quartile by more than three times the distance between the quartiles. Slow steps belong to the program, and
-- count like the others. In a run that recorded a device, a step extends from the first work that it launched to the
-- first work of the next step; told_by says device, and the step is that of time_of_step. Elsewhere, a step extends
-- from start to start on the host. If the host runs ahead of the device by more than a step, its starts do not show
-- the step. Those rows have no step, and told_by says so. The parts of a step (device_ns, layers_ns, allocation_ns)
-- come from at most a thousand steps of each row, from its middle.
-- @needs steps,whole
-- @view table columns=program,found_by,part,level,steps,step_ns,told_by,low_ns,high_ns,extra_ns,slow_steps,slowest_ns
-- @view table columns=layers_ns,allocation_ns,total_ns,first_step,last_step,slowest_step,process
-- @column process number Number of the process that ran the steps.
-- @column program text Program of the process.
-- @column found_by text The sign of a step: mark, optimizer, range, model, launch.
-- @column part text Part of the steps: first, warm-up, steady.
-- @column level text The deepest level that was recorded.
-- @column steps count Number of steps.
-- @column first_step number Number of the first step of the row; steps of a process count from 0.
-- @column last_step number Number of the last step of the row.
-- @column step_ns ns Mean time of a step; leaves out one over twenty times the median, between two loops.
-- @column told_by text host: from start to start; device: from work to work; or the reason why there is no step.
-- @column device_ns ns Device time of one step, overlaps counted once: mean over the row; empty: not recorded.
-- @column low_ns ns Lower end of step_ns's 95 % interval over twenty consecutive parts; empty below six steps.
-- @column high_ns ns Upper end of the 95 % interval of step_ns.
-- @column total_ns ns Time of all steps of the row.
-- @column extra_ns ns Time beyond that of steady steps that are not slow; in a steady row, only of its slow steps.
-- @column slow_steps count Number of steady steps that are slow.
-- @column slowest_step number Number of the slowest step.
-- @column slowest_ns ns Time of the slowest step.
-- @column layers_ns ns Time of a step in its outermost layers, of all threads; empty: not recorded.
-- @column allocation_ns ns Mean time of a step in calls that allocate or free device memory; empty: not recorded.
WITH step AS MATERIALIZED (
  FROM whole_step WHERE fact_of('recorded_by') IS NOT NULL
  UNION ALL
  SELECT * EXCLUDE (own_end_ns, is_whole) FROM steps_of(fact_of('recorded_by') IS NULL)
  WHERE is_whole AND fact_of('recorded_by') IS NULL),
looked_at AS MATERIALIZED (
  SELECT run_id, level, process, part, start_ns, end_ns FROM step
  QUALIFY abs(2 * row_number() OVER (PARTITION BY run_id, process, part ORDER BY start_ns)
    - count(*) OVER (PARTITION BY run_id, process, part) - 1) <= 1000),
stretch AS MATERIALIZED (
  SELECT run_id, any_value(level) AS run_level, process, min(start_ns) AS from_ns, max(end_ns) AS until_ns
  FROM looked_at GROUP BY run_id, process, part),
-- The time of each step in layers, and in calls that allocate.
inner_span AS MATERIALIZED (
  SELECT s.run_id, s.process, s.level, s.start_ns, s.duration_ns
  FROM span s SEMI JOIN stretch r ON r.run_id = s.run_id AND r.process = s.process AND s.start_ns >= from_ns
    AND s.start_ns < until_ns AND s.level <= run_level
  WHERE NOT s.is_open AND s.device IS NULL AND (s.level = 3 AND s.depth = 0 OR s.level = 5 AND s.type = 'allocation')),
spent AS (
  SELECT t.run_id, t.process, t.start_ns, sum(i.duration_ns) FILTER (i.level = 3) AS layers_ns,
    sum(i.duration_ns) FILTER (i.level = 5) AS allocation_ns
  FROM inner_span i ASOF JOIN looked_at t
    ON i.run_id = t.run_id AND i.process = t.process AND i.start_ns >= t.start_ns
  WHERE i.start_ns < t.end_ns GROUP BY ALL),
part_of AS (
  SELECT t.run_id, t.process, t.start_ns,
    CASE WHEN EXISTS (SELECT 1 FROM inner_span i WHERE i.run_id = t.run_id AND i.level = 3)
      THEN coalesce(layers_ns, 0) END AS layers_ns,
    CASE WHEN t.level >= 5 THEN coalesce(allocation_ns, 0) END AS allocation_ns
  FROM looked_at t LEFT JOIN spent USING (run_id, process, start_ns)),
placed AS (
  SELECT s.*, layers_ns, allocation_ns FROM step s LEFT JOIN part_of USING (run_id, process, start_ns)),
period AS MATERIALIZED (FROM step_periods(NULL)),
-- The device's working time, in the run that recorded it, from step to step of the host.
called AS (
  SELECT process, correlation_id, min(start_ns) AS call_ns
  FROM span s SEMI JOIN stretch r ON r.run_id = s.run_id AND r.process = s.process AND s.start_ns >= from_ns
    AND s.start_ns < until_ns
  WHERE run_id = cause_run(NULL) AND level = 5 AND correlation_id IS NOT NULL GROUP BY ALL),
work AS (
  SELECT process, call_ns, greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
    PARTITION BY process ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns))) AS ns
  FROM (SELECT process, correlation_id, span_id, start_ns, start_ns + duration_ns AS end_ns FROM span
        WHERE run_id = cause_run(NULL) AND level = 6 AND device IS NOT NULL AND NOT is_open)
    JOIN called USING (process, correlation_id)),
worked AS (
  SELECT t.run_id, t.process, t.part, sum(ns) / any_value(r.steps) AS device_ns
  FROM work w ASOF JOIN (SELECT * FROM looked_at WHERE run_id = cause_run(NULL)) t
      ON t.process = w.process AND w.call_ns >= t.start_ns
    JOIN (SELECT run_id, process, part, count(*) AS steps FROM looked_at GROUP BY ALL) r
      ON r.run_id = t.run_id AND r.process = t.process AND r.part = t.part
  WHERE w.call_ns < t.end_ns GROUP BY ALL),
quartile AS (
  SELECT run_id, process, 4 * quantile_cont(duration_ns, 0.75) - 3 * quantile_cont(duration_ns, 0.25) AS far_ns
  FROM placed WHERE part = 'steady' GROUP BY ALL),
steady AS (
  SELECT q.run_id, q.process, far_ns, avg(duration_ns) FILTER (duration_ns <= far_ns) AS steady_ns
  FROM quartile q JOIN placed p USING (run_id, process) WHERE part = 'steady' GROUP BY ALL),
-- The first steps are compared with steady ones of the same levels, if there are any, or with the device's steps if the
-- host's times mean nothing.
least AS (
  SELECT p.process, min_by(q.steady_ns, p.level) AS steady_ns
  FROM placed p JOIN steady q USING (run_id, process) GROUP BY p.process),
began AS (SELECT process, min(start_ns) AS start_ns FROM placed GROUP BY process),
program AS (SELECT process, max_by(name, start_ns) AS name FROM span WHERE level = 1 AND type = 'process' GROUP BY ALL),
line AS (
  SELECT p.process, any_value(program.name) AS program, any_value(p.kind) AS found_by, p.part, p.run_id,
    p.level AS level_number, count(*) AS steps, min(p.number) AS first_step, max(p.number) AS last_step,
    any_value(d.is_ahead) AS is_ahead, any_value(d.ahead_ns) AS ahead_ns, any_value(d.step_ns) AS device_step_ns,
    any_value(d.run_id) = p.run_id AND any_value(d.part) = p.part AS is_told,
    p.part <> 'first' AND coalesce(any_value(d.is_ahead), false) AS is_hollow, any_value(d.told_by) AS told_by,
    CASE WHEN is_told THEN any_value(d.step_ns) WHEN NOT is_hollow THEN avg(p.duration_ns) FILTER (is_counted) END
      AS step_ns,
    CASE WHEN is_told THEN any_value(d.in_order)
         WHEN p.part = 'steady' AND NOT is_hollow THEN list(p.duration_ns ORDER BY p.start_ns) FILTER (is_counted) END
      AS in_order,
    sum(p.duration_ns) AS total_ns,
    CASE WHEN is_hollow THEN NULL
      WHEN p.part = 'steady' THEN coalesce(sum(p.duration_ns - q.steady_ns) FILTER (p.duration_ns > q.far_ns), 0)
      WHEN any_value(d.is_ahead) THEN sum(p.duration_ns - d.step_ns)
      ELSE sum(p.duration_ns - coalesce(q.steady_ns, least.steady_ns)) END AS extra_ns,
    CASE WHEN p.part = 'steady' AND NOT is_hollow THEN count(*) FILTER (p.duration_ns > q.far_ns) END AS slow_steps,
    CASE WHEN NOT is_hollow THEN min_by(p.number, (-p.duration_ns, p.number)) END AS slowest_step,
    CASE WHEN NOT is_hollow THEN max(p.duration_ns) END AS slowest_ns,
    avg(p.layers_ns) FILTER (is_counted) AS layers_ns, avg(p.allocation_ns) AS allocation_ns,
    any_value(began.start_ns) AS began_ns
  FROM placed p LEFT JOIN steady q USING (run_id, process) LEFT JOIN least USING (process)
    LEFT JOIN program USING (process) JOIN began USING (process) LEFT JOIN period d ON d.process = p.process
  GROUP BY p.process, p.run_id, p.part, p.level)
SELECT l.process, program, found_by, l.part, level_name(level_number) AS level, steps, first_step, last_step, step_ns,
  CASE WHEN is_told THEN told_by WHEN is_hollow THEN concat('not told: the host runs ', time_text(ahead_ns),
    ' ahead of the device') ELSE 'host' END AS told_by, device_ns,
  step_ns - mean_half_width(in_order) AS low_ns, step_ns + mean_half_width(in_order) AS high_ns, total_ns,
  extra_ns, slow_steps, slowest_step, slowest_ns, layers_ns, allocation_ns
FROM line l LEFT JOIN worked w ON w.run_id = l.run_id AND w.process = l.process AND w.part = l.part
ORDER BY began_ns, l.process, list_position(['first', 'warm-up', 'steady'], l.part), level_number, l.run_id
