-- @title Too many or too few threads
-- @rule The step has too many or too few threads: it waits for them, has no processor, or leaves processors idle.
-- @needs watched
SELECT concat('The step is ready to run but has no processor',
    CASE WHEN spinning_ns > 0 THEN ', or spins until another thread has done its part,' END, ' for ', step_share(ns),
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Let the program have no more busy threads than processors: set the numbers of ',
    'threads of its libraries (OMP_NUM_THREADS, torch.set_num_threads) and of its ', 'workers',
    CASE WHEN spinning_ns > 0 THEN '; let a thread that waits sleep until it is woken' END, '.') AS advice,
  'time_of_step' AS evidence,
  'The cause descheduled of time_of_step must vanish.' AS check,
  culprit, layer
FROM blamed(['descheduled'], NULL), (
    SELECT coalesce(sum(ns), 0) AS spinning_ns FROM finding_time WHERE cause = 'descheduled' AND kind = 'spinning'
), (
  SELECT try_cast(max(value) AS DOUBLE) AS load_pct FROM evaluation WHERE key = 'machine.other_load_pct')
WHERE coalesce(load_pct, 0) <= high_load_pct()
UNION ALL
SELECT concat('The step waits ', step_share(ns), coalesce(' at ' || place, ''), ' until ', culprit,
    ' have done their work.'),
  'application', ns,
  concat('Share the work out evenly, over as many threads as processors; let each thread write to lines of the cache ',
    'of its own; see whether fewer threads take longer at all.'),
  'time_of_step', 'The cause waiting of time_of_step must take less, and the step must become shorter by as much.',
  culprit, layer
FROM blamed(['own threads'], NULL)
-- Threads that wait for a lock for most of that time are a matter of that lock (locks).
WHERE coalesce(locked_share(), 0) < 0.5
UNION ALL
SELECT printf('%s takes %s on %s, while there are %d processors.', blame_text(culprit, layer, place), step_share(ns),
    CASE WHEN threads < 1.05 THEN 'one thread' ELSE printf('%.1f threads', threads) END, processors),
  'application', ns * (1 - threads / processors),
  concat('Let the library of ', culprit, ' have as many threads as there are processors (OPENBLAS_NUM_THREADS, ',
    'MKL_NUM_THREADS, OMP_NUM_THREADS), or run several such processes at once.'),
  'time_of_step', concat('The time of ', culprit, ' in time_of_step must become shorter.'),
  culprit, layer
FROM (
    SELECT sum(ns) AS ns, max_by(culprit, ns) AS culprit, max_by(layer, ns) AS layer, max_by(place, ns) AS place
    FROM finding_time WHERE cause = 'compute' AND kind = 'product' AND layer IS NULL), finding_arithmetic
WHERE ns > 0 AND threads < 0.75 * processors
  AND coalesce((SELECT try_cast(max(value) AS DOUBLE) FROM evaluation WHERE key = 'machine.other_load_pct'), 0)
    <= high_load_pct()
