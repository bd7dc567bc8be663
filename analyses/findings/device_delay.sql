-- @title Kernels that wait on the device
-- @rule A kernel was launched in time, and yet waits on the device.
SELECT concat(so_long, 'the next one waits on the device though it was launched.') AS finding, 'kernel' AS level,
  ns AS gain_ns,
  'Fuse small kernels; run what does not depend on one another on several streams.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause device, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM idle_for('device')
UNION ALL
SELECT concat('For ', step_share(ns),
    ' a step the device runs nothing although the next operation was queued.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Fuse small kernels or capture them as a CUDA graph, which start faster one ',
    'after the other; run what does not depend on one another on several streams.') AS advice,
  'time_of_step' AS evidence,
  'The cause device of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['device'], NULL)
