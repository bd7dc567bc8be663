-- @title Kernels that wait on the device
-- @rule A kernel was launched in time, and yet waits on the device.
-- @needs kernel
SELECT concat(so_long, 'the next one waits on the device though it was launched.') AS finding, 'kernel' AS level,
  ns AS gain_ns,
  'Fuse small kernels; run what does not depend on one another on several streams.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause device, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM idle_for('device')
