-- @title Copies
-- @rule The device has no kernel while data are copied.
-- @needs kernel
SELECT concat(so_long, 'data are copied.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Copy from pinned memory on a stream of its own, beside the kernels.' AS advice,
  'copy_overlap' AS evidence,
  'See in copy_overlap how much of the copies lies beside kernels, before and after.' AS check,
  longest_call('copy') AS culprit, NULL AS layer
FROM idle_for('copies')
