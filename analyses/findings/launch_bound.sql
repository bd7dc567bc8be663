-- @title Bound by launches
-- @rule The device is idle while the host launches its next kernel.
SELECT concat(so_long, 'the host launches the next one.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Replay the inference as a CUDA graph, fuse small kernels, or infer more inputs at once.' AS advice,
  'launch_delay' AS evidence,
  'Compare the idle time of gpu_idle, cause launch, before and after.' AS check,
  (SELECT kernel_label(name) FROM finding_kernel GROUP BY 1 ORDER BY sum(per_inference) DESC, 1 LIMIT 1) AS culprit,
  NULL AS layer
FROM idle_for('launch')
UNION ALL
SELECT concat('The device is idle for ', step_share(ns),
    ' a step while the host launches its next operation',
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Capture the step as a CUDA graph or compile the model, so that the host ',
    'launches less; fuse small kernels; give the device more at once, a larger batch.') AS advice,
  'time_of_step' AS evidence,
  concat('The causes launch and framework of time_of_step must take less, and the step ',
    'must become shorter by as much.') AS check,
  culprit, layer
FROM blamed(['launch', 'framework'], NULL)
WHERE EXISTS (FROM finding_time WHERE cause = 'launch')
