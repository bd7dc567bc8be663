-- @title Other programs
-- @rule The step is ready to run, but the processors, or the GPU, run other programs.
-- @needs watched
SELECT concat('Other programs use ', printf('%.0f %%', load_pct),
    ' of the processors, and the step is ready to run, and has none, for ', step_share(ns), '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Measure, and run, where nothing else does, or give this program processors of ',
    'its own (taskset).') AS advice,
  'audit' AS evidence,
  concat('The load of the other programs, which the audit shows, must be gone, and the ',
    'cause descheduled of time_of_step with it.') AS check,
  'other programs' AS culprit, NULL AS layer
FROM blamed(['descheduled'], NULL), (
  SELECT try_cast(max(value) AS DOUBLE) AS load_pct FROM evaluation WHERE key = 'machine.other_load_pct')
WHERE load_pct > high_load_pct()
UNION ALL
SELECT printf('Other programs compute on the same GPU for %.0f %% of the time (%s), and it serves them by turns.',
    load_pct, names),
  'kernel', step_ns * load_pct / 100,
  'Measure, and run, on a GPU of its own (CUDA_VISIBLE_DEVICES), or when nothing else does.',
  'audit', 'The load of the other programs on the GPU, which the audit shows, must be gone.', names, NULL
FROM finding_step, (
  SELECT try_cast(max(value) FILTER (key = 'gpu.other_load_pct') AS DOUBLE) AS load_pct,
    max(value) FILTER (key = 'gpu.other_programs') AS names FROM evaluation)
WHERE load_pct > high_load_pct()
