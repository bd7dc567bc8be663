-- @title Waiting for another thread
-- @rule The thread that carries the step waits for another thread or process.
-- @needs watched
-- The work of the threads that do not wait, whenever a thread of a step waits for a lock. One of them may hold it.
WITH facts AS MATERIALIZED (FROM stack_facts(cause_run((SELECT batch FROM finding_batch)))),
looked AS (
  SELECT process, thread, time_ns, duration_ns, stack_id,
    gil = 'waited' OR (state = 'waiting' AND coalesce(waits_in, '') = 'futex') AS waits,
    gil IS DISTINCT FROM 'waited'
      AND (state <> 'waiting' OR coalesce(waits_in, '') NOT IN ('futex', 'poll', 'select', 'epoll_wait')) AS works
  FROM sample WHERE run_id = cause_run((SELECT batch FROM finding_batch))),
meanwhile AS (
  SELECT blame_text(coalesce(own_function, callee), NULL, place) AS work
  FROM (FROM looked WHERE waits AND thread IN (SELECT thread FROM finding_steps)) w
    JOIN (FROM looked WHERE works) o
      ON o.process = w.process AND o.time_ns = w.time_ns AND o.thread <> w.thread
    JOIN facts f ON f.stack_id = o.stack_id
  WHERE coalesce(own_function, callee) IS NOT NULL
  GROUP BY work ORDER BY sum(o.duration_ns) DESC, work LIMIT 1)
SELECT concat('Waiting for another thread or process takes ', step_share(ns),
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.',
    ' Meanwhile, the other threads that work are mostly in ' || (SELECT work FROM meanwhile) || '.') AS finding,
  'application' AS level, ns AS gain_ns,
  CASE WHEN culprit = interpreters_lock() THEN concat('Another thread of Python holds that lock: give its work to a ',
      'process of its own, or to code that releases the lock (NumPy, the framework''s operators).')
    ELSE concat('See who holds what ', coalesce(blame_text(culprit, layer, place), 'it'),
      ' waits for: hold it for less time, or give each thread data of its own.') END AS advice,
  'time_of_step' AS evidence,
  'The cause waiting of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['waiting'], NULL)
UNION ALL
-- A step that waits for data takes as long as the preparing of the data. So without the lock, both would be shorter by
-- the share of the time that the preparing waits for it.
SELECT concat('The processes that prepare its data wait for one another for ', printf('%.0f %%', 100 * share),
    ' of their time, in ', l.own_function, ' (', l.place, '), and waiting for them takes ', step_share(ns), '.'),
  'application', least(ns, share * step_ns),
  concat('Let each process have what it reads for itself, or hold the lock at ', l.place, ' for less time.'),
  'flame_graph', 'Fewer samples of the workers in flame_graph must wait in futex, and the step must become shorter.',
  l.own_function, NULL
FROM blamed(['data'], NULL), finding_lock l, finding_step
