-- @title Bound by launches
-- @rule The device is idle while the host launches its next kernel.
SELECT concat('The device is idle for ', step_share(ns),
    ' while the host launches its next operation',
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Capture the ', unit_name(), ' as a CUDA graph or compile the model, so that the host ',
    'launches less; fuse small kernels; give the device more at once, a larger batch.') AS advice,
  'time_of_step' AS evidence,
  concat('The causes launch and framework of time_of_step must take less, and the ', unit_name(),
    ' must become shorter by as much.') AS check,
  culprit, layer
FROM blamed(['launch', 'framework'], NULL)
WHERE EXISTS (FROM finding_time WHERE cause = 'launch')
