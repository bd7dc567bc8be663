-- @title Chains bound by memory
-- @rule Elementwise layers read and write memory where a fused kernel would keep the data on the chip.
-- @needs layer
-- Chains are short if other operations stand between most elementwise operations. One pass over memory then remains
-- for each chain, which is half of the time.
WITH one AS (
  SELECT type, count(*) AS layers, sum(ns) AS ns
  FROM finding_layer JOIN operator_cost USING (operator)
  WHERE ns > 0 AND (rule = 'output' OR regexp_matches(lower(operator), '^(relu6?|clip|hardtanh|clamp)_?$'))
    AND NOT regexp_matches(lower(operator), 'softmax|layer_?norm|instance|group|skip|rms|simplified|rotary|cumsum')
  GROUP BY type),
elementwise AS (
  SELECT CAST(sum(layers) AS BIGINT) AS layers, sum(ns) AS ns, first(type ORDER BY ns DESC, type) AS most FROM one)
SELECT concat(layers, CASE layers WHEN 1 THEN ' elementwise layer' ELSE ' elementwise layers' END, ' (mostly ', most,
    ') take', CASE layers WHEN 1 THEN 's ' ELSE ' ' END, whole_share(ns), ' to read and write memory.') AS finding,
  'layer' AS level, share_in_step(ns) AS gain_ns,
  concat('Let a compiler fuse them into the layers before them',
    CASE WHEN EXISTS (FROM finding_layer WHERE regexp_matches(lower(type), 'batch_?norm'))
      THEN '; fold batch normalisation into the weights' ELSE '' END, '.') AS advice,
  'time_by_level' AS evidence, concat('Compare the time of ', most, ' in time_by_level, before and after.') AS check,
  most AS culprit, NULL AS layer
FROM elementwise, finding_place, finding_usable
WHERE elementwise.layers > 0 AND NOT is_watched() AND CASE WHEN is_gpu THEN kernels_hold ELSE layers_hold END
UNION ALL
SELECT concat('Elementwise work takes ', step_share(ns), ' to read and write memory, in ', printf('%.0f', calls),
    ' pieces, mostly ', blame_text(culprit, layer, place), '.') AS finding,
  'layer' AS level, CASE WHEN 2 * others < calls THEN ns ELSE 0.5 * ns END AS gain_ns,
  concat('Let a compiler fuse ', culprit, ' and what is around it into one kernel that reads and writes once',
    coalesce(' (' || compiler_name() || ')', ''), ', or into the products before them.') AS advice,
  'time_of_step' AS evidence,
  concat('The time of ', culprit, ' in time_of_step must be gone, and few kernels must have taken its place.') AS check,
  culprit, layer
FROM blamed(NULL, ['elementwise']), (
    SELECT coalesce(sum(calls), 0) AS others FROM finding_time
    WHERE cause IN ('compute', 'other kernels') AND kind IS DISTINCT FROM 'elementwise' AND ns > 0.01 * (
      SELECT sum(ns) FROM finding_time WHERE kind = 'elementwise'))
WHERE is_watched() AND calls >= 2
