-- The steps that a program repeats: loaded after prelude_1_runs.sql.

-- All steps of a loop count. However, a step that is more than twenty times as long as the median, and the only one
-- among fifty, lies between two loops.
CREATE OR REPLACE TEMP MACRO is_of_loop(is_far, how_many_are, steps) AS NOT is_far OR how_many_are * 50 > steps;

-- Whether there may be steps: the program was watched, or marks them.
CREATE OR REPLACE TEMP MACRO has_steps() AS
  fact_of('recorded_by') IS NOT NULL OR EXISTS (FROM span WHERE level = 1 AND type IN ('step', 'phase'));

-- Returns one row for each step of each run without counters. Steps are those that the program marks (xsp_step); else
-- those of its optimiser; else, with `with_calls`, its outermost NVTX ranges of the name with the most time, if they
-- fill most of the time; else the outermost calls of its model. Ranges and calls each last until the next one, and
-- own_end_ns is their own end. A step without a next one is not whole, unless no step has one: then a step is the call
-- alone. `part` is first: the first step of its process, which compiles, tries kernels out and allocates; warm-up: the
-- further ones before the first measured iteration, or, if none is numbered, those at the beginning that take more than
-- 1.5 times the median of the later half; steady: the others. is_counted: a mean over the steps of its run, process and
-- part includes it. A pause in every tenth step belongs to the program (is_of_loop).
CREATE OR REPLACE TEMP MACRO steps_of(with_calls) AS TABLE
  WITH kind_of AS (
    SELECT run_id, site_id, any_value(value) FILTER (key = 'step_of') AS kind,
      any_value(value) FILTER (key = 'phase') AS phase
    FROM site_attribute WHERE key IN ('step_of', 'phase') GROUP BY ALL),
  recorded AS (
    SELECT run_id, deepest_level(levels) AS level FROM run
    WHERE status <> 'failed' AND NOT has_counters(counters)),
  told AS (
    SELECT s.run_id, s.process, s.thread, k.kind, try_cast(a.value AS BIGINT) AS number, s.start_ns,
      s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN kind_of k USING (run_id, site_id)
      LEFT JOIN span_attribute a ON a.run_id = s.run_id AND a.span_id = s.span_id AND a.key = 'step'
    WHERE s.level = 1 AND s.type = 'step' AND NOT s.is_open AND k.kind IS NOT NULL),
  -- A step ends with the optimiser's. Without a span around it, a step begins where the one before ended.
  phase AS (
    SELECT s.run_id, s.process, s.thread, s.start_ns, s.start_ns + s.duration_ns AS end_ns, k.phase
    FROM span s JOIN kind_of k USING (run_id, site_id)
    WHERE s.level = 1 AND s.type = 'phase' AND NOT s.is_open),
  derived AS (
    SELECT p.run_id, p.process, p.thread, 'optimizer' AS kind,
      row_number() OVER (PARTITION BY p.process ORDER BY p.end_ns, p.run_id) - 1 AS number,
      coalesce(before_ns, f.start_ns) AS start_ns, p.end_ns
    FROM (SELECT *, lag(end_ns) OVER (PARTITION BY run_id, process ORDER BY end_ns) AS before_ns
          FROM phase WHERE phase = 'optimizer') p
      JOIN (SELECT run_id, process, min(start_ns) AS start_ns FROM phase GROUP BY ALL) f USING (run_id, process)
    WHERE NOT EXISTS (SELECT 1 FROM told t
                      WHERE t.process = p.process AND t.kind IN ('optimizer', 'mark') AND t.start_ns <= p.start_ns
                        AND t.end_ns >= p.end_ns)),
  range_of AS (
    SELECT s.run_id, s.process, s.thread, s.name, s.start_ns, s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN span p ON p.run_id = s.run_id AND p.span_id = s.parent_id
    WHERE with_calls AND s.level = 1 AND s.type = 'range' AND NOT s.is_open AND p.type = 'process'),
  repeated AS (
    SELECT process, thread, name, sum(end_ns - start_ns) AS total_ns, min(start_ns) AS from_ns, max(end_ns) AS until_ns
    FROM range_of GROUP BY process, thread, name HAVING count(*) >= 5
    WINDOW of_thread AS (PARTITION BY process, thread)
    QUALIFY 2 * sum(total_ns) OVER of_thread > max(until_ns) OVER of_thread - min(from_ns) OVER of_thread
      AND row_number() OVER (PARTITION BY process ORDER BY total_ns DESC, thread, name) = 1),
  -- A call of the model is a step from its start to the next call's, on the thread with the most calls: the program's
  -- work in between belongs to the step. If calls are numbered, because not all are recorded, the next call has the
  -- next number. Ranges work in the same way. The last one before something else is recorded has no next.
  call AS (
    SELECT 'model' AS kind, run_id, process, thread, NULL AS number, start_ns, start_ns + duration_ns AS end_ns
    FROM span WHERE with_calls AND level = 2 AND depth = 0 AND NOT is_open AND device IS NULL
      AND process NOT IN (SELECT process FROM told)
    QUALIFY coalesce(thread, 0) = mode(coalesce(thread, 0)) OVER (PARTITION BY process)
    UNION ALL
    SELECT kind, run_id, process, thread, number, start_ns, end_ns FROM told WHERE with_calls AND kind = 'model'
    UNION ALL
    SELECT 'range', run_id, r.process, r.thread, NULL, r.start_ns, r.end_ns
    FROM range_of r JOIN repeated b ON b.process = r.process AND b.thread IS NOT DISTINCT FROM r.thread
      AND b.name = r.name),
  followed AS (
    SELECT * REPLACE (coalesce(number, row_number() OVER in_order - 1) AS number),
      CASE WHEN lead(run_id) OVER in_order = run_id AND coalesce(lead(number) OVER in_order = number + 1, true)
           THEN lead(start_ns) OVER in_order END AS next_ns
    FROM call WINDOW in_order AS (PARTITION BY process, kind ORDER BY start_ns, run_id)),
  called AS (
    SELECT run_id, process, thread, kind, number, start_ns, coalesce(next_ns, end_ns) AS end_ns, end_ns AS own_end_ns,
      next_ns IS NOT NULL OR count(next_ns) OVER (PARTITION BY process, kind) = 0 AS is_whole
    FROM followed),
  known AS (
    SELECT *, list_position(['model', 'range', 'optimizer', 'mark'], kind) AS strength
    FROM (FROM told WHERE kind <> 'model' UNION ALL BY NAME FROM derived UNION ALL BY NAME FROM called)),
  -- A loop that calls no model, as with a replayed CUDA graph. It is searched for in a process that launches most of
  -- the device's work before the first step (except an optimiser's, which prepares) or after the last one. Copies are
  -- no work in a process with steps, because the copies of a model's weights are a loop, too. A step goes from one
  -- launch of a work to the next launch of the same work. A work is a call with the name of the first operation that
  -- it executes. Works that are launched equally often form a loop, and the loop with the most device time is used.
  -- Of more than 200,000 operations, about so many are used for that. In an evaluation that `xsp profile` made, the
  -- calls are the steps. Joins, because DuckDB reads no spans at all if there is no run to read.
  searched AS MATERIALIZED (SELECT run_id FROM run WHERE fact_of('recorded_by') IS NOT NULL),
  executed AS MATERIALIZED (
    SELECT run_id, process, type, correlation_id, start_ns, duration_ns,
      CAST((SELECT count(*) FROM span WHERE level = 6) // 200_000 + 1 AS UBIGINT) AS one_in
    FROM span JOIN searched USING (run_id) WHERE level = 6 AND device IS NOT NULL),
  without AS (
    SELECT process FROM (
      SELECT o.process, o.type, o.duration_ns, coalesce(c.start_ns, o.start_ns) AS call_ns
      FROM (FROM executed WHERE hash(coalesce(correlation_id, start_ns)) % one_in = 0) o
        LEFT JOIN (SELECT run_id, process, correlation_id, start_ns FROM span JOIN searched USING (run_id)
                   WHERE level = 5 AND hash(correlation_id) % (SELECT max(one_in) FROM executed) = 0) c
          USING (run_id, process, correlation_id))
      LEFT JOIN (
        SELECT process, CASE WHEN max(strength) >= 3 THEN 0 ELSE min(start_ns) END AS from_ns, max(end_ns) AS until_ns
        FROM known GROUP BY process) k USING (process)
    WHERE from_ns IS NULL OR is_kernel(type) GROUP BY process
    HAVING 2 * coalesce(sum(duration_ns) FILTER (call_ns BETWEEN from_ns AND until_ns), 0) < sum(duration_ns)),
  launched AS (
    SELECT run_id, process, thread, start_ns, concat(call, ' ', executed) AS work, works_ns FROM (
      SELECT c.run_id, c.process, c.thread, c.start_ns, c.name AS call, min_by(o.name, o.start_ns) AS executed,
        sum(o.duration_ns) AS works_ns
      FROM span c JOIN span o USING (run_id, process, correlation_id)
      WHERE c.level = 5 AND o.level = 6 AND o.device IS NOT NULL AND c.process IN (FROM without) GROUP BY ALL)),
  often AS (
    SELECT *, sum(works_ns) OVER (PARTITION BY process, times) AS alike_ns FROM (
      SELECT process, work, count(*) AS times, min(start_ns) AS first_ns, sum(works_ns) AS works_ns
      FROM launched GROUP BY process, work)
    WHERE times >= 5),
  looped AS (
    SELECT run_id, process, thread, 'launch' AS kind, row_number() OVER in_order - 1 AS number, start_ns,
      CASE WHEN lead(run_id) OVER in_order = run_id THEN lead(start_ns) OVER in_order END AS end_ns, 5 AS strength
    FROM launched WHERE (process, work) IN (
      SELECT (process, arg_max(work, (alike_ns, -times, -first_ns))) FROM often GROUP BY process)
    WINDOW in_order AS (PARTITION BY process ORDER BY start_ns, run_id)),
  found AS (FROM known UNION ALL BY NAME FROM looped WHERE end_ns IS NOT NULL),
  steady_from AS (
    SELECT run_id, process, min(start_ns) FILTER (iteration >= 0) AS steady_ns
    FROM span WHERE level = 2 AND depth = 0 AND iteration IS NOT NULL GROUP BY ALL),
  step AS (
    SELECT f.run_id, r.level, f.process, f.thread, f.kind, f.number, f.start_ns, f.end_ns,
      coalesce(f.own_end_ns, f.end_ns) AS own_end_ns, coalesce(f.is_whole, true) AS is_whole,
      f.end_ns - f.start_ns AS duration_ns, w.run_id IS NOT NULL AS has_model, w.steady_ns,
      row_number() OVER (PARTITION BY f.process ORDER BY f.start_ns, f.run_id) AS nth,
      row_number() OVER of_run AS nth_of_run, count(*) OVER (PARTITION BY f.run_id, f.process) AS of_run
    FROM found f JOIN recorded r USING (run_id) LEFT JOIN steady_from w USING (run_id, process)
    WHERE f.strength = (SELECT max(strength) FROM found g WHERE g.process = f.process)
    WINDOW of_run AS (PARTITION BY f.run_id, f.process ORDER BY f.start_ns)),
  usual AS (
    SELECT run_id, process, median(duration_ns) FILTER (is_whole AND 2 * nth_of_run > of_run) AS usual_ns
    FROM step GROUP BY ALL),
  slow_until AS (
    SELECT s.run_id, s.process, coalesce(min(nth_of_run) FILTER (is_whole AND duration_ns <= 1.5 * usual_ns), 1)
        AS steady_nth
    FROM step s JOIN usual USING (run_id, process) GROUP BY ALL),
  placed AS (
    SELECT s.*, CASE WHEN nth = 1 THEN 'first'
        WHEN has_model AND coalesce(s.end_ns <= s.steady_ns, true) THEN 'warm-up'
        WHEN NOT has_model AND nth_of_run < steady_nth AND 2 * nth_of_run <= of_run THEN 'warm-up'
        ELSE 'steady' END AS part
    FROM step s JOIN slow_until USING (run_id, process)),
  far AS (
    SELECT *, count(CASE WHEN is_whole THEN 1 END) OVER of_part AS n,
      duration_ns > 20 * median(CASE WHEN is_whole THEN duration_ns END) OVER of_part AS is_far
    FROM placed WINDOW of_part AS (PARTITION BY run_id, process, part))
  SELECT run_id, level, process, thread, kind, number, start_ns, end_ns, own_end_ns, is_whole, duration_ns, part,
    is_of_loop(is_far, count(CASE WHEN is_far THEN 1 END) OVER (PARTITION BY run_id, process, part), n) AS is_counted
  FROM far;
-- The steps of a program that xsp did not write. In an evaluation that `xsp profile` made, the time between the calls
-- is not the model's.
CREATE OR REPLACE TEMP TABLE every_step AS
  -- @if has_steps() else (run_id INTEGER, level INTEGER, process INTEGER, thread INTEGER, kind VARCHAR, number BIGINT,
  -- start_ns BIGINT, end_ns BIGINT, own_end_ns BIGINT, is_whole BOOLEAN, duration_ns BIGINT, part VARCHAR,
  -- is_counted BOOLEAN)
  FROM steps_of(fact_of('recorded_by') IS NOT NULL);
CREATE OR REPLACE TEMP VIEW whole_step AS SELECT * EXCLUDE (own_end_ns, is_whole) FROM every_step WHERE is_whole;
