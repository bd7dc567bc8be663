-- @title Layers that take longer on the host
-- @rule Layers take more than twice as long on the host as their kernels take.
-- @needs kernel
WITH on_host AS (
  SELECT count(*) FILTER (cost_ns > 2 * kernel_ns) AS layers, count(*) AS all_layers,
    sum(cost_ns - kernel_ns) FILTER (cost_ns > 2 * kernel_ns) AS ns,
    first(type ORDER BY cost_ns - kernel_ns DESC, type) AS culprit
  FROM finding_layer WHERE kernel_ns > 0 AND time_of = 'host')
SELECT concat(layers, ' of ', all_layers, CASE layers WHEN 1 THEN ' layers takes' ELSE ' layers take' END,
    ' the host more than twice as long as ', CASE layers WHEN 1 THEN 'its' ELSE 'their' END, ' kernels take.')
    AS finding, 'layer' AS level, least(ns, launching_ns) AS gain_ns,
  concat('A CUDA graph ', CASE WHEN compiler_name() IS NULL THEN '' ELSE 'or a compiled model ' END,
    'leaves out the host; fuse the smallest layers.') AS advice,
  'gpu_by_layer' AS evidence,
  'Compare what the layers take the host with what their kernels take in gpu_by_layer.' AS check,
  culprit, NULL AS layer
FROM on_host, finding_usable, (
    SELECT coalesce(sum(time_ns), 0) AS launching_ns FROM finding_step_cause WHERE cause IN ('launch', 'framework'))
WHERE on_host.layers > 0 AND launching_ns > 0 AND layers_hold AND NOT is_watched()
