-- @title Waiting for another thread
-- @rule The thread that carries the step waits for another thread or process.
-- @needs watched
SELECT concat('Waiting for another thread or process takes ', step_share(ns),
    mostly_text(culprit_ns, ns, culprit, layer, place), '.',
    ' Meanwhile, the other threads, of which one may hold what it waits for, are mostly in ' || (
      SELECT max_by(work, ns) FROM finding_meanwhile WHERE works AND work IS NOT NULL) || '.') AS finding,
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
UNION ALL
-- Threads that the step waits for, and that wait for a lock, do their work sooner without that lock.
SELECT concat('The step waits ', step_share(ns), coalesce(' at ' || place, ''), ' for ', culprit, printf(', which wait '
    || 'for a lock for %.0f %% of that time', 100 * locked_share()), coalesce(', mostly in ' || (
      SELECT max_by(work, ns) FROM finding_meanwhile WHERE locks AND work IS NOT NULL), ''), '.'),
  'application', ns * locked_share(),
  'Let these threads hold the lock for less time, or give each of them data of its own.',
  'flame_graph', 'Fewer samples of these threads in flame_graph must wait in futex, and the step must become shorter.',
  coalesce((SELECT max_by(work, ns) FROM finding_meanwhile WHERE locks AND work IS NOT NULL), culprit), layer
FROM blamed(['own threads'], NULL) WHERE locked_share() >= 0.5
