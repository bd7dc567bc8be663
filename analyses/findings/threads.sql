-- @title Too many threads
-- @rule The step is ready to run, but the processors run other threads of the program.
-- @needs watched
SELECT concat('The step is ready to run, and has no processor, for ', step_share(ns),
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Let the program have no more busy threads than processors: set the numbers of ',
    'threads of its libraries (OMP_NUM_THREADS, torch.set_num_threads) and of its ', 'workers.') AS advice,
  'time_of_step' AS evidence,
  'The cause descheduled of time_of_step must vanish.' AS check,
  culprit, layer
FROM blamed(['descheduled'], NULL), (
  SELECT try_cast(max(value) AS DOUBLE) AS load_pct FROM evaluation WHERE key = 'machine.other_load_pct')
WHERE coalesce(load_pct, 0) <= high_load_pct()
