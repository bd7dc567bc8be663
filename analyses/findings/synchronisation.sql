-- @title Synchronisation
-- @rule The device is idle while the host waits for it, and only then goes on.
-- @needs kernel
SELECT concat(so_long, 'the host waits for the device.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Wait once, when the results are needed.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause synchronization, before and after.' AS check,
  longest_call('synchronization') AS culprit, NULL AS layer
FROM idle_for('synchronization')
