-- @title Bound by host code
-- @rule The device is idle while the host runs code of its own.
SELECT concat(so_long, 'the host runs code of its own.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Take the framework out of the inner loop: a CUDA graph, a compiled model, more inputs at once.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause host, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM idle_for('host')
UNION ALL
SELECT concat('The step waits ', step_share(ns), ' for the host''s own code',
    coalesce(', mostly ' || blame_text(culprit, layer, place) || ', which takes ' || time_text(culprit_ns), ''),
    '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Take ', coalesce(blame_text(culprit, layer, place), 'it'),
    ' out of the step: do it once for many steps, ahead on another thread, or with ',
    'operators of the framework; compile the model where it is Python around them.') AS advice,
  'time_of_step' AS evidence,
  concat('The cause host code of time_of_step must take less, and the step must become ',
    'shorter by as much.') AS check,
  culprit, layer
FROM blamed(['host code'], NULL)
