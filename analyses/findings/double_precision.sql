-- @title Double precision
-- @rule Layers compute in 64-bit floating point, which models hardly ever need.
-- @needs layer
SELECT printf('%s in float64 take%s %s, mostly %s.',
    CASE layers WHEN 1 THEN '1 layer' ELSE concat(layers, ' layers') END, CASE layers WHEN 1 THEN 's' ELSE '' END,
    whole_share(ns), concat(type, CASE WHEN layer <> type THEN concat(' in ', layer) END)) AS finding,
  'layer' AS level, share_in_step(ns) AS gain_ns,
  concat('Compute in float32 or less: convert the inputs and the weights once (NumPy makes float64 by default), and ',
    'see that nothing converts them back. Half of the bytes is the least that this saves; most libraries have no fast ',
    'path for float64.') AS advice,
  'layer_information' AS evidence, concat('No input of ', layer, ' may be float64 in layer_information.') AS check,
  type AS culprit, layer
FROM (
    SELECT count(*) AS layers, sum(ns) AS ns, first(name ORDER BY ns DESC, name) AS layer,
      first(type ORDER BY ns DESC, name) AS type
    FROM finding_layer
    WHERE ns > 0 AND list_contains(list_transform(input_types, lambda one: lower(one)), 'float64')), finding_usable
WHERE layers > 0 AND CASE WHEN (SELECT any_value(is_gpu) FROM finding_place) THEN kernels_hold ELSE layers_hold END
