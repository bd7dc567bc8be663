-- @title Bias in a pass of its own
-- @rule A convolution's bias is added by a kernel of its own, which reads and writes the whole output once more.
-- @needs kernel
-- cuDNN adds a tensor to another with this kernel (cudnnAddTensor).
WITH adding AS (
  SELECT count(*) AS kernels, sum(k.latency_ns) AS ns, any_value(kernel_label(k.name)) AS culprit
  FROM finding_kernel k JOIN (SELECT DISTINCT name FROM finding_layer WHERE is_convolution(type)) l ON l.name = k.layer
  WHERE regexp_matches(lower(k.name), 'op_(generic_)?tensor_kernel'))
SELECT concat(kernels, CASE kernels WHEN 1 THEN ' convolution adds its bias' ELSE ' convolutions add their bias' END,
    ' in another pass over the output, for ', whole_share(ns), '.') AS finding,
  'kernel' AS level, share_in_step(ns) AS gain_ns,
  concat('Let the convolutions add it', CASE WHEN (SELECT any_value(framework) FROM run) = 'onnxruntime'
      THEN ' (fuse_conv_bias, an option of the provider for CUDA)'
      ELSE coalesce(': compile the model (' || compiler_name() || ')', '') END, '.') AS advice,
  'kernels_by_name' AS evidence,
  concat('No ', culprit, ' may be left in kernels_by_name, and the convolutions must not become longer by as much.')
    AS check, culprit, NULL AS layer
FROM adding, finding_usable WHERE kernels > 0 AND kernels_hold
