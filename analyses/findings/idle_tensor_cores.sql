-- @title Idle tensor cores
-- @rule Matrix products run without the tensor cores.
-- @needs layer
-- Applies only if the pipes of the work are known, and the fastest that it may have used is not a tensor core.
WITH missed AS (
  SELECT count(*) AS layers, sum(ns) AS ns, any_value(precision) AS precision,
    first(name ORDER BY ns DESC, name) AS culprit,
    -- Most of their time is in layers that may use TF32 as they are set.
    coalesce(2 * sum(ns) FILTER (precision = 'fp32' AND tf32) > sum(ns), false) AS is_allowed,
    -- No more than the time of the arithmetic itself: what waits for memory does so on tensor cores as well.
    -- Layers that overlap share their time, and what the ceilings allow in the same proportion.
    sum(ns / ran_ns * least(1e9 * CASE WHEN is_counted THEN counted_flops ELSE flops END / l.peak_flops,
      ran_ns - least(ran_ns, CASE WHEN is_counted
        THEN allowed_ns(counted_flops, counted_l2_bytes, counted_bytes, t.value, peak_l2_bytes, peak_bytes)
        ELSE least_ns(flops, bytes, t.value, peak_high_bytes) END))) AS gain_ns
  FROM finding_layer l
    JOIN finding_ceiling t ON t.pipe = CASE precision WHEN 'fp32' THEN 'tf32_tensor' ELSE precision || '_tensor' END
  WHERE is_gpu AND ns > 0 AND l.pipe NOT LIKE '%tensor' AND precision <> 'fp64' AND is_matrix
    AND NOT is_depthwise(type, inputs)
    AND coalesce(counted_flops, flops) > 0)
SELECT concat(layers, CASE layers WHEN 1 THEN ' layer multiplies' ELSE ' layers multiply' END,
    ' matrices without the tensor cores, for ', whole_share(ns), '.') AS finding, 'kernel' AS level,
  share_in_step(gain_ns) AS gain_ns,
  CASE WHEN is_allowed THEN concat('TF32 is allowed here, and the library chose other kernels: give them sizes that ',
      'fill tensor cores (channels in multiples of 8), or use fp16 or bf16, where their accuracy is enough.')
    WHEN precision = 'fp32' THEN 'Allow TF32, or use fp16 or bf16, where their accuracy is enough.'
    ELSE 'See which shapes and layouts its kernels need for tensor cores (multiples of 8).' END AS advice,
  'tensor_core_use' AS evidence,
  'The share of the tensor cores in tensor_core_use must rise, and the layers'' kernels change their names.' AS check,
  culprit, NULL AS layer
FROM missed, finding_usable WHERE missed.layers > 0 AND kernels_hold
