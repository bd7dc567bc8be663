-- @title Kernels that wait on the device
-- @rule A kernel waits on the device although it was launched in time.
-- @needs causes
SELECT concat('For ', step_share(ns),
    ' the device runs nothing although the next operation was queued.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Fuse small kernels or capture them as a CUDA graph, which start faster one ',
    'after the other; run what does not depend on one another on several streams.') AS advice,
  'time_of_step' AS evidence,
  'The cause device of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['device'], NULL)
