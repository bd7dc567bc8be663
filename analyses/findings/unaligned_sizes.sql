-- @title Sizes that do not fit the tensor cores
-- @rule Products in 16 bits have a dimension that is not a multiple of 8.
-- @needs layer
-- The dimensions are channels, or rows and columns: those of the second input, and the last one of the first.
WITH product AS (
  SELECT name, ns, list_filter(
      CASE WHEN is_of_cudnn THEN inputs[2][1:2] ELSE list_concat(inputs[2], [inputs[1][-1]]) END,
      lambda n: n % 8 <> 0 AND n > 8) AS odd,
    -- Layers that overlap share their time, and what the ceilings allow in the same proportion.
    ns / ran_ns * greatest(0, ran_ns - coalesce(CASE WHEN is_counted
      THEN allowed_ns(counted_flops, counted_l2_bytes, counted_bytes, peak_flops, peak_l2_bytes, peak_bytes)
      ELSE least_ns(flops, bytes, peak_flops, peak_high_bytes) END, 0)) AS gain_ns
  FROM finding_layer
  WHERE is_gpu AND is_matrix AND precision IN ('fp16', 'bf16') AND ns > 0 AND len(inputs) >= 2),
unaligned AS (
  SELECT count(*) AS layers, sum(ns) AS ns, sum(gain_ns) AS gain_ns, first(name ORDER BY ns DESC, name) AS layer,
    first(odd[1] ORDER BY ns DESC, name) AS size
  FROM product WHERE len(odd) > 0)
SELECT printf('%s multiplies matrices in 16 bits with a dimension of %d, no multiple of 8; such layers (%d) take %s.',
    layer, size, layers, whole_share(ns)) AS finding, 'layer' AS level, share_in_step(gain_ns) AS gain_ns,
  printf('Pad %d to %d in %s and its like (channels, classes, the vocabulary): tensor cores work on multiples of 8.',
    size, (size + 7) // 8 * 8, layer) AS advice,
  'layer_information' AS evidence, concat('Compare the time of ', layer, ' in layer_information, before and after.')
    AS check, layer AS culprit, layer
FROM unaligned, finding_usable WHERE layers > 0 AND kernels_hold
