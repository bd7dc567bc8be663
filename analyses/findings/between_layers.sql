-- @title Time between layers
-- @rule The runtime takes time between the layers.
-- @needs layer
WITH between AS (
  SELECT latency_ns - (SELECT sum(self_ns) FROM finding_layer) AS ns
  FROM run_latency r, finding_place p, finding_usable
  WHERE r.run_id = p.run_id AND NOT is_watched() AND layers_hold AND NOT is_gpu AND NOT EXISTS (FROM finding_kernel))
SELECT concat(time_text(ns), ' of an inference lie between its layers, in the runtime itself.') AS finding,
  'layer' AS level, ns AS gain_ns,
  'Fewer, larger layers: fused nodes, more inputs at once; see what the runtime waits for.' AS advice,
  'model_summary' AS evidence, 'Compare the time between the layers in model_summary, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM between
