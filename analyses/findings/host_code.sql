-- @title Bound by host code
-- @rule The device is idle while the host runs code of its own.
-- @needs kernel
SELECT concat(so_long, 'the host runs code of its own.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Take the framework out of the inner loop: a CUDA graph, a compiled model, more inputs at once.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause host, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM idle_for('host')
