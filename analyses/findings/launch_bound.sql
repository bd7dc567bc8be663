-- @title Bound by launches
-- @rule The device is idle while the host launches its next kernel.
-- @needs kernel
SELECT concat(so_long, 'the host launches the next one.') AS finding, 'kernel' AS level, ns AS gain_ns,
  'Replay the inference as a CUDA graph, fuse small kernels, or infer more inputs at once.' AS advice,
  'launch_delay' AS evidence,
  'Compare the idle time of gpu_idle, cause launch, before and after.' AS check,
  (SELECT kernel_label(name) FROM finding_kernel GROUP BY 1 ORDER BY sum(per_inference) DESC, 1 LIMIT 1) AS culprit,
  NULL AS layer
FROM idle_for('launch')
