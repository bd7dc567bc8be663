-- @id x34
-- @name flame_graph
-- @title Stacks of the threads
-- @question Which functions and lines are the program's threads in, and what do they wait for?
-- The tree of stacks comes from samples, which were taken many times a second from outside. Below each process are its
-- threads, and below them the functions that call one another. A sample stands for the time since the previous one. A
-- function that calls itself is nested. Calls of one function from several lines of another one are one row. place is
-- the line where the function spends most of its own time, or else the line from which it calls. Frames of Python's
-- imports, and functions without a name below others of their library, are hidden, and their time belongs to the
-- frames around them. Compiled code has its callers if xsp doctor says that native stacks are available. All runs of
-- the program count, whatever spans they recorded; runs with deep levels have the cost of recording in their times.
-- Eight or more threads that almost never ran, such as those of an idle pool, are one row. Rows below the least share
-- are left out; their time is in the rows above them.
-- @needs samples
-- @param process integer - The only process to show; by default all.
-- @param thread integer - The only thread to show; by default all.
-- @param state text - The only state to show: running, runnable or waiting; by default all.
-- @param least_pct double 1 The least share of its thread's time that a row needs to be shown, in percent.
-- @view flame_graph depth=depth name=tree value=total_ns,running_ns,runnable_ns,waiting_ns own=self_ns kind=kind
-- @view flame_graph place=place file=file state=state
-- @view table columns=tree,place,total_ns,self_ns,share_pct,state,waits_in bar=share_pct top=200
-- @column process count Number of the process.
-- @column thread count Number of the thread; the main thread has the number of the process.
-- @column depth count Depth of nesting; 0: a process; 1: a thread; from 2: functions.
-- @column tree text The function, indented by its depth.
-- @column function text Name of the function; in Python with its class, from 3.11 on.
-- @column place text Name of the file, and the line.
-- @column file text The file with its folder.
-- @column kind text Kind of the frame: python, native, kernel.
-- @column samples count Number of samples in the function and the functions that it called.
-- @column total_ns ns Time that the samples stand for.
-- @column self_ns ns Part of total_ns in the function itself.
-- @column share_pct pct Share of total_ns in the time of its thread; for a thread, in that of its process.
-- @column state text State of the threads in most of that time.
-- @column waits_in text The system call in which they waited longest.
-- @column running_ns ns Time on a processor.
-- @column runnable_ns ns Time in the queue for a processor.
-- @column waiting_ns ns Time asleep in a system call.
-- @column lock_ns ns Time of waiting for the lock of Python's interpreter.
WITH RECURSIVE frame AS (
  SELECT s.*, coalesce(s.file LIKE '<frozen importlib%' OR s.file LIKE '%/xsp/python/xsp/%', false)
      OR (s.kind = 'native' AND s.function LIKE '[%' AND p.file IS NOT DISTINCT FROM s.file) AS is_hidden
  FROM stack s LEFT JOIN stack p ON p.run_id = s.run_id AND p.stack_id = s.parent_id),
taken AS MATERIALIZED (
  SELECT run_id, process, thread, stack_id, state, waits_in, count(*) AS samples, sum(duration_ns) AS ns,
    coalesce(sum(duration_ns) FILTER (gil = 'waited'), 0) AS lock_ns
  FROM sample JOIN run USING (run_id)
  WHERE NOT has_counters(counters) AND ($process IS NULL OR process = $process)
    AND ($thread IS NULL OR thread = $thread) AND ($state IS NULL OR state = $state)
  GROUP BY ALL),
-- Frames of no interest are hidden, and the frames around them are shown instead. They are the machinery of imports,
-- profilers, and functions of a library without a name, below other functions of it.
visible AS (
  SELECT run_id, stack_id, function, file, kind, is_hidden, CASE WHEN NOT is_hidden THEN stack_id END AS shown_id,
    NULL::INTEGER AS caller_id
  FROM frame WHERE parent_id IS NULL
  UNION ALL
  SELECT f.run_id, f.stack_id, f.function, f.file, f.kind, f.is_hidden,
    CASE WHEN f.is_hidden THEN v.shown_id ELSE f.stack_id END, v.shown_id
  FROM frame f JOIN visible v ON v.run_id = f.run_id AND v.stack_id = f.parent_id),
-- Stacks without line numbers: one key for each path of functions.
path AS (
  SELECT run_id, stack_id, 2 AS depth, hash(concat_ws(chr(0), function, file, kind)) AS key,
    1::UBIGINT AS parent_key
  FROM visible WHERE NOT is_hidden AND caller_id IS NULL
  UNION ALL
  SELECT s.run_id, s.stack_id, p.depth + 1, hash(concat_ws(chr(0), p.key, s.function, s.file, s.kind)), p.key
  FROM visible s JOIN path p ON p.run_id = s.run_id AND p.stack_id = s.caller_id WHERE NOT s.is_hidden),
-- Many threads that never work are combined into one.
worker AS (
  SELECT process, thread,
    CASE WHEN is_idle AND count(CASE WHEN is_idle THEN 1 END) OVER (PARTITION BY process) >= 8 THEN -1
      ELSE thread END AS shown
  FROM (SELECT process, thread, thread <> process AND $thread IS NULL AND $state IS NULL
          AND 100 * coalesce(sum(ns) FILTER (state <> 'waiting'), 0) < $least_pct * sum(ns) AS is_idle
        FROM taken GROUP BY process, thread)),
-- The time of each stack itself and, up the tree, of its callers.
spent AS (
  SELECT t.process, w.shown, t.run_id, v.shown_id AS stack_id, true AS is_own, t.state, t.waits_in, t.samples, t.ns,
    t.lock_ns
  FROM taken t JOIN worker w USING (process, thread) JOIN visible v USING (run_id, stack_id)
  WHERE v.shown_id IS NOT NULL
  UNION ALL
  SELECT c.process, c.shown, c.run_id, v.caller_id, false, c.state, c.waits_in, c.samples, c.ns, c.lock_ns
  FROM spent c JOIN visible v USING (run_id, stack_id) WHERE v.caller_id IS NOT NULL),
part AS (
  SELECT c.process, c.shown, p.depth, p.key, p.parent_key, s.function, s.file, s.line, s.kind,
    c.is_own, c.state, c.waits_in, c.samples, c.ns, c.lock_ns
  FROM spent c JOIN path p USING (run_id, stack_id) JOIN stack s USING (run_id, stack_id)
  UNION ALL
  SELECT t.process, w.shown, 1, 1::UBIGINT, 0::UBIGINT, CASE WHEN w.shown = -1 THEN NULL
      ELSE concat('thread ', w.shown, CASE WHEN w.shown = t.process THEN ' (main)' ELSE '' END) END, NULL, NULL, NULL,
    t.stack_id IS NULL, t.state, t.waits_in, t.samples, t.ns, t.lock_ns
  FROM taken t JOIN worker w USING (process, thread)
  UNION ALL
  SELECT process, NULL, 0, 0::UBIGINT, NULL, NULL, NULL, NULL, NULL, false, state, waits_in, samples, ns, lock_ns
  FROM taken),
place AS (
  SELECT process, shown, key, arg_max(concat(parse_filename(file), ':' || line), (own_ns, ns)) AS place,
    arg_max(file, (own_ns, ns)) AS file
  FROM (SELECT process, shown, key, file, line, coalesce(sum(ns) FILTER (is_own), 0) AS own_ns, sum(ns) AS ns
        FROM part WHERE depth >= 2 GROUP BY ALL) GROUP BY ALL),
most AS (
  SELECT process, shown, key, arg_max(waits_in, ns) AS waits_in
  FROM (SELECT process, shown, key, waits_in, sum(ns) AS ns FROM part WHERE waits_in IS NOT NULL GROUP BY ALL)
  GROUP BY ALL),
node AS (
  SELECT process, shown, depth, key, parent_key, any_value(function) AS function, any_value(kind) AS kind,
    sum(samples)::BIGINT AS samples, sum(ns)::BIGINT AS total_ns,
    coalesce(sum(ns) FILTER (is_own), 0)::BIGINT AS self_ns,
    coalesce(sum(ns) FILTER (state = 'running'), 0)::BIGINT AS running_ns,
    coalesce(sum(ns) FILTER (state = 'runnable'), 0)::BIGINT AS runnable_ns,
    coalesce(sum(ns) FILTER (state = 'waiting'), 0)::BIGINT AS waiting_ns, sum(lock_ns)::BIGINT AS lock_ns
  FROM part GROUP BY process, shown, depth, key, parent_key),
program AS (
  SELECT process, any_value(name) AS name FROM span WHERE level = 1 AND type = 'process' GROUP BY process),
named AS (
  SELECT n.*, CASE depth
      WHEN 0 THEN concat('process ', n.process, ' ' || program.name)
      WHEN 1 THEN coalesce(function, concat(
        (SELECT count(*) FROM worker w WHERE w.process = n.process AND w.shown = -1),
        ' more threads, which all but never ran'))
      ELSE function END AS label
  FROM node n LEFT JOIN program USING (process)),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY process, shown, parent_key, depth ORDER BY
      total_ns DESC, label, key) AS rank
  FROM named),
ordered AS (
  SELECT *, [process::BIGINT, 0, 0] AS position FROM ranked WHERE depth = 0
  UNION ALL
  -- The main thread comes first, then the threads that worked most, then the combined ones.
  SELECT r.*, CASE WHEN r.depth = 1
      THEN [r.process::BIGINT, CASE r.shown WHEN r.process THEN 1 WHEN -1 THEN 3 ELSE 2 END,
            r.waiting_ns - r.total_ns, r.shown]
      ELSE list_append(o.position, r.rank) END
  FROM ranked r JOIN ordered o ON o.process = r.process AND o.key = r.parent_key AND o.depth = r.depth - 1
    AND (r.depth = 1 OR o.shown = r.shown))
SELECT process, nullif(shown, -1) AS thread, depth, concat(repeat('  ', depth), label) AS tree,
  CASE WHEN depth >= 2 THEN label END AS function, place.place,
  place.file, kind, samples, total_ns, self_ns,
  pct(total_ns, CASE WHEN depth < 2 THEN sum(CASE WHEN depth = 0 THEN total_ns END) OVER (PARTITION BY process)
                ELSE sum(CASE WHEN depth = 1 THEN total_ns END) OVER (PARTITION BY process, shown) END) AS share_pct,
  CASE greatest(running_ns, runnable_ns, waiting_ns) WHEN running_ns THEN 'running' WHEN waiting_ns THEN 'waiting'
    ELSE 'runnable' END AS state,
  most.waits_in, running_ns, runnable_ns, waiting_ns, lock_ns
FROM ordered o LEFT JOIN place USING (process, shown, key)
  LEFT JOIN most ON most.process = o.process AND most.shown IS NOT DISTINCT FROM o.shown AND most.key = o.key
QUALIFY share_pct >= $least_pct OR depth < 2
ORDER BY position
