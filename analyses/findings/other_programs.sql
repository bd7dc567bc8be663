-- @title Other programs
-- @rule The step is ready to run, but the processors run other programs.
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
