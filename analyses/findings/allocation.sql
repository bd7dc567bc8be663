-- @title Allocation
-- @rule The device is idle while memory is allocated or released.
-- @needs kernel
SELECT concat(so_long, 'memory is allocated.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Reuse memory: allocate before the inference.' AS advice,
  'gpu_idle' AS evidence,
  'Compare the idle time of gpu_idle, cause allocation, before and after.' AS check,
  longest_call('allocation') AS culprit, NULL AS layer
FROM idle_for('allocation')
