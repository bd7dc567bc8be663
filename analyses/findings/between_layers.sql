-- @title Time between layers
-- @rule The runtime takes time between the layers.
-- @needs layer
-- The bound is the share of the time between layers in the inferences of the layer run, applied to the model's
-- latency, as in time_by_level.
WITH between AS (
  SELECT m.latency_ns * (1 - (SELECT sum(self_ns) FROM finding_layer) / r.latency_ns) AS ns
  FROM run_latency r, finding_place p, finding_usable, finding_model m
  WHERE r.run_id = p.run_id AND NOT is_watched() AND layers_hold AND NOT is_gpu AND NOT EXISTS (FROM finding_kernel))
SELECT concat(time_text(ns), ' of an inference lie between its layers, in the runtime itself.') AS finding,
  'layer' AS level, ns AS gain_ns,
  'Fewer, larger layers: fused nodes, more inputs at once; see what the runtime waits for.' AS advice,
  'time_by_level' AS evidence, 'Compare the row between layers of time_by_level, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM between
