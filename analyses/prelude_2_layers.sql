-- The analyses share temporary macros, views and tables. They are loaded before each analysis, file by file in the
-- order of the files' names, and nothing of them is written to the .xsp file. This file has the layers: their times,
-- shapes, flops, bytes.

-- ---- The roofline ------------------------------------------------------------------------------------

-- For flops, a fused multiply-add counts 2, and special functions do not count. Arithmetic intensity is flops per byte.
-- The two ceilings meet at the ideal intensity; below it, memory is the bound.
CREATE OR REPLACE TEMP MACRO intensity(flops, bytes) AS flops / nullif(bytes, 0);
CREATE OR REPLACE TEMP MACRO bound_by(flops, bytes, peak_flops, peak_bytes) AS
  CASE WHEN bytes = 0 THEN NULL WHEN intensity(flops, bytes) < intensity(peak_flops, peak_bytes) THEN 'memory'
       WHEN intensity(flops, bytes) >= intensity(peak_flops, peak_bytes) THEN 'compute' END;
CREATE OR REPLACE TEMP MACRO roof(flops, bytes, peak_flops, peak_bytes) AS
  CASE WHEN flops > 0 AND bytes IS NOT NULL AND peak_flops IS NOT NULL
       THEN least(peak_flops, intensity(flops, bytes) * peak_bytes) END;
-- Returns a ceiling of a device, such as ('cpu', 'fp32', 'flops_per_s'). If the run had one thread, this is the ceiling
-- of one thread, if known.
CREATE OR REPLACE TEMP MACRO peak_of(wanted_device, what, unit, threads) AS coalesce(
  (SELECT max(value) FROM peak
   WHERE device = wanted_device AND name = concat(what, '_1_thread_', unit) AND threads = 1),
  (SELECT max(value) FROM peak WHERE device = wanted_device AND name = concat(what, '_', unit)));
-- Returns the ceiling of the arithmetic of a CPU: its value, source, and pipe. If the ceiling of a floating point type
-- is not known, that of fp32 is used; integers have no substitute.
CREATE OR REPLACE TEMP MACRO host_ceiling(wanted_device, arithmetic, run_threads) AS (
  SELECT {'value': p.value, 'source': p.source, 'pipe': w.pipe}
  FROM (VALUES (arithmetic, concat(arithmetic, CASE arithmetic WHEN 'int8' THEN '_operations' ELSE '_flops' END), 1),
               (CASE WHEN arithmetic NOT IN ('int8', 'unpacked') THEN 'fp32' END, 'fp32_flops', 2)) w(pipe, what, rank)
    JOIN peak p ON p.device = wanted_device AND pipe IS NOT NULL
      AND (p.name = concat(what, '_per_s')
           OR (run_threads = 1 AND p.name = concat(w.pipe, '_1_thread_', substr(what, len(w.pipe) + 2), '_per_s')))
  ORDER BY rank, contains(p.name, '_1_thread_') DESC, p.value DESC LIMIT 1);

-- Returns whether a device span is a kernel: copies and memory sets are not.
CREATE OR REPLACE TEMP MACRO is_kernel(type) AS
  coalesce(type, 'kernel') NOT IN ('copy', 'memcpy', 'memset', 'synchronization');

-- ---- Layer level -------------------------------------------------------------------------------------

-- The executions of layers in the layer runs. self_ns is without the layers nested in it. If a run's layers are timed
-- on the device, those that the host launched have the time of their kernels, as those in a CUDA graph have.
CREATE OR REPLACE TEMP VIEW layer_span AS
  SELECT s.run_id, s.site_id, s.span_id, s.process, s.iteration, s.ordinal, s.name, s.type, s.depth, s.start_ns,
    s.duration_ns, CASE WHEN r.on_device THEN s.duration_ns ELSE s.self_ns END AS self_ns
  FROM span s JOIN layer_run r ON r.run_id = s.run_id AND r.on_device = (s.device IS NOT NULL)
  WHERE s.level = 3 AND NOT s.is_open
  UNION ALL
  SELECT run_id, site_id, span_id, process, iteration, ordinal, name, type, depth, k.start_ns, k.duration_ns,
    k.duration_ns
  FROM (FROM span SEMI JOIN (FROM layer_run WHERE on_device) USING (run_id)
        WHERE level = 3 AND device IS NULL AND NOT is_open)
    JOIN (
      SELECT run_id, layer_id AS span_id, min(start_ns) AS start_ns,
        max(start_ns + duration_ns) - min(start_ns) AS duration_ns
      FROM span SEMI JOIN (FROM layer_run WHERE on_device) USING (run_id)
      WHERE level = 6 AND device IS NOT NULL GROUP BY ALL) k USING (run_id, span_id);
-- The layers that the typical inferences of the layer runs executed.
CREATE OR REPLACE TEMP TABLE executed_layer AS
  WITH site AS (
    SELECT s.run_id, s.site_id, count(*) AS executions, min(s.span_id) AS span_id, min(s.ordinal) AS ordinal,
      sum(s.duration_ns) AS total_ns, sum(s.self_ns) AS total_self_ns
    FROM layer_span s JOIN measured_inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
        AND i.process = coalesce(s.process, 0)
    WHERE i.is_typical
    GROUP BY s.run_id, s.site_id)
  SELECT l.run_id, l.batch, site.site_id, first.parent_id, site.ordinal, first.depth, first.name, first.type,
    site.executions, site.executions / l.typical AS per_inference, total_ns / l.typical AS latency_ns,
    total_self_ns / l.typical AS self_ns,
    CASE WHEN r.on_device THEN 'device' ELSE 'host' END AS time_of
  FROM site JOIN layer_run r USING (run_id) JOIN run_latency l USING (run_id)
    JOIN (SELECT run_id, span_id, parent_id, depth, name, type FROM span SEMI JOIN layer_run USING (run_id)
          WHERE level = 3) first USING (run_id, span_id);
-- Returns one row for each layer that the typical inferences of the layer run of one batch size (NULL: the smallest)
-- executed, in the order of execution. latency_ns is the mean over these of the layer's sum in an inference, so a layer
-- that runs several times counts with all of them. self_ns is without the layers nested in it. time_of is the source of
-- the time: host, or device if the layers come from the kernel run.
CREATE OR REPLACE TEMP MACRO layers(wanted_batch) AS TABLE
  SELECT * FROM executed_layer WHERE batch = chosen_batch(3, wanted_batch);

-- Returns half the width of the 95 % interval of each layer's latency. A layer's time depends on its inference. For a
-- dropped inference, the layer's mean next to the same fence, in a tenth of the typical inferences, is used instead.
CREATE OR REPLACE TEMP MACRO layer_half_widths(wanted_batch) AS TABLE
  WITH source AS (SELECT * FROM layer_run WHERE batch = chosen_batch(3, wanted_batch)),
  inference AS MATERIALIZED (SELECT * FROM measured_inference WHERE run_id = (SELECT run_id FROM source)),
  whole AS (
    SELECT count(*) AS n, count(*) FILTER (is_typical) AS typical, count(*) FILTER (is_near_low) AS near_low,
      count(*) FILTER (is_near_high) AS near_high
    FROM inference),
  part AS (
    SELECT block, count(*) AS n, count(*) FILTER (is_below) AS below, count(*) FILTER (is_above) AS above
    FROM inference GROUP BY block),
  executed AS (
    SELECT s.site_id, i.block, sum(s.duration_ns) FILTER (is_typical) AS typical_ns,
      sum(s.duration_ns) FILTER (is_near_low) AS near_low_ns, sum(s.duration_ns) FILTER (is_near_high) AS near_high_ns
    FROM layer_span s JOIN inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
      AND i.process = coalesce(s.process, 0)
    WHERE s.run_id = (SELECT run_id FROM source) AND i.is_typical
    GROUP BY ALL),
  site AS (
    SELECT site_id, sum(near_low_ns) / any_value(near_low) AS low_ns,
      sum(near_high_ns) / any_value(near_high) AS high_ns
    FROM executed, whole GROUP BY site_id),
  winsorised AS (
    SELECT s.site_id, p.block, p.n, coalesce(e.typical_ns, 0) + p.below * coalesce(s.low_ns, 0)
      + p.above * coalesce(s.high_ns, 0) AS sum_ns
    FROM site s CROSS JOIN part p LEFT JOIN executed e ON e.site_id = s.site_id AND e.block = p.block)
  SELECT site_id, half_width(list(residual_ns)) AS half_ns FROM (
    SELECT site_id, (sum_ns - w.n * sum(sum_ns) OVER of_site / whole.n) / typical AS residual_ns
    FROM winsorised w, whole WINDOW of_site AS (PARTITION BY site_id))
  GROUP BY site_id;

-- Whether the model ran as a package that a compiler wrote (torch.compile's, for example).
CREATE OR REPLACE TEMP MACRO is_package() AS EXISTS (FROM site_attribute WHERE key = 'setting.compiler');

-- Returns one row for each layer: its counters, which hold for the site or were counted span by span. What an execution
-- allocates, reads and writes counts as often as the layer runs in an inference; its weights count once. In a package,
-- calls that reserve buffers are layers of their own. A buffer belongs to the layer that writes it, so it counts as
-- that layer's output alone.
CREATE OR REPLACE TEMP MACRO layer_counters(wanted_batch) AS TABLE
  WITH counted AS (
    SELECT site_id, name, value FROM site_counter WHERE run_id = chosen_layer_run(wanted_batch)
    UNION ALL
    SELECT s.site_id, c.name, median(c.value)
    FROM span_counter c JOIN span s USING (run_id, span_id)
    WHERE c.run_id = chosen_layer_run(wanted_batch) AND s.level = 3 AND s.iteration >= 0
    GROUP BY s.site_id, c.name),
  reserving AS (
    SELECT DISTINCT site_id FROM span
    WHERE is_package() AND run_id = chosen_layer_run(wanted_batch) AND level = 3
      AND regexp_matches(type, '(^|:)empty(_strided)?$'))
  SELECT site_id,
    CASE WHEN is_package() THEN nullif(max(per_inference * value) FILTER (c.name = 'allocated_bytes'), 0)
         ELSE max(per_inference * value) FILTER (c.name = 'allocated_bytes') END AS allocated_bytes,
    max(per_inference * value) FILTER (c.name = 'output_bytes') AS output_bytes,
    max(value) FILTER (c.name = 'parameter_bytes') AS parameter_bytes,
    max(per_inference * value) FILTER (c.name = 'activation_bytes') AS activation_bytes
  FROM counted c JOIN layers(wanted_batch) l USING (site_id)
  WHERE site_id NOT IN (SELECT site_id FROM reserving) GROUP BY site_id;

-- Returns one row for each layer: its shapes, as lists of dimensions, with the weights among the inputs; and the
-- model's own layers that it stands for.
CREATE OR REPLACE TEMP MACRO layer_shapes(wanted_batch) AS TABLE
  SELECT site_id,
    try_cast(any_value(value) FILTER (key = 'input_shapes') AS BIGINT[][]) AS inputs,
    try_cast(any_value(value) FILTER (key = 'output_shapes') AS BIGINT[][]) AS outputs,
    try_cast(any_value(value) FILTER (key = 'input_dtypes') AS VARCHAR[]) AS input_types,
    try_cast(any_value(value) FILTER (key = 'output_dtypes') AS VARCHAR[]) AS output_types,
    try_cast(any_value(value) FILTER (key = 'source_layers') AS VARCHAR[]) AS source_layers
  FROM site_attribute WHERE run_id = chosen_layer_run(wanted_batch) GROUP BY site_id;
-- Turns [[1,64,56,56]] into '1x64x56x56'. Several shapes are separated by blanks, and a scalar is 'scalar'.
CREATE OR REPLACE TEMP MACRO shape_text(shapes) AS
  array_to_string(list_transform(shapes, lambda s:
    CASE WHEN len(s) = 0 THEN 'scalar' ELSE array_to_string(s, 'x') END), ' ');

-- Returns a layer in the model's own names, with the layers that were fused into it behind plus signs: 'layer1/0/conv2
-- +bn2 +relu2'.
CREATE OR REPLACE TEMP MACRO layer_label(name, sources) AS
  CASE WHEN coalesce(len(sources), 0) = 0 THEN name
       WHEN len(sources) > 4 THEN sources[1] || ' +' || (len(sources) - 1) || ' more'
       ELSE sources[1] || array_to_string(list_transform(sources[2:], lambda s:
         ' +' || regexp_extract(s, '[^/]*$')), '') END;

-- ---- Analytic flops and bytes ------------------------------------------------------------------------

CREATE OR REPLACE TEMP MACRO elements(dims) AS
  CASE WHEN len(dims) = 0 THEN 1 WHEN list_min(dims) < 0 THEN NULL ELSE list_product(dims) END;
CREATE OR REPLACE TEMP MACRO dtype_bytes(dtype) AS CASE
  WHEN dtype IN ('float64', 'int64', 'uint64', 'complex64') THEN 8
  WHEN dtype IN ('float32', 'int32', 'uint32') THEN 4
  WHEN dtype IN ('float16', 'bfloat16', 'int16', 'uint16') THEN 2
  WHEN dtype IN ('int8', 'uint8', 'bool') THEN 1 END;
-- tensor_sizes returns the bytes of each tensor, and tensor_bytes their sum. NULL: unknown, also if any is unknown.
CREATE OR REPLACE TEMP MACRO tensor_sizes(shapes, types) AS
  list_transform(range(1, len(shapes) + 1), lambda i: elements(shapes[i]) * dtype_bytes(types[i]));
CREATE OR REPLACE TEMP MACRO tensor_bytes(shapes, types) AS
  CASE WHEN len(shapes) = 0 THEN 0
       WHEN list_count(tensor_sizes(shapes, types)) = len(shapes) THEN list_sum(tensor_sizes(shapes, types)) END;

-- Compilers name the code that they generate around a convolution after it: triton_poi_fused_convolution_relu. This
-- code is not a convolution.
CREATE OR REPLACE TEMP MACRO is_convolution(type) AS
  coalesce(type ILIKE '%conv%' AND NOT regexp_matches(type, '(triton_(poi|red|per|for)|cpp)_fused'), false);

-- Returns the operator in a layer's type, without its namespace. Removes the marks of a compiled package of PyTorch,
-- whose operators are called by C functions (aoti_torch_cuda_addmm_out). Removes the marks of TensorFlow's fusions, and
-- of the operators that it gives to oneDNN on suitable processors: _MklNativeFusedConv2D is FusedConv2D, and
-- QuantizedConv2DWithBiasAndReluAndRequantize is QuantizedConv2D.
CREATE OR REPLACE TEMP MACRO operator_of(type) AS
  regexp_replace(regexp_replace(regexp_replace(regexp_extract(type, '[^.:]*$'),
      '^aoti_torch_(cpu|cuda|xpu|mps)_(.*?)(_v[0-9]+)?(_out)?$', '\2'),
    '^_(Mkl)?(Native|Eager)?(Fused|[A-Z])', '\3'),
  '(PerChannel|WithBias|AndRelu|AndRequantize)[A-Za-z]*$', '');

-- The computation of an operator of ONNX, ONNX Runtime's fusions, PyTorch, OpenCV or TensorFlow. `rule` and `factor`
-- give its flops: a number for each element of its first output or input, or a rule of operator_flops. Comparisons,
-- maxima and special functions (exp, tanh, erf, sqrt) are no flops; a division is one. A bias is the accumulator's
-- first value and costs nothing; neither does a fused activation. `moves` is the data that must cross the memory: all
-- inputs and all outputs or the first, only the picked elements, or nothing. An operator that is not listed has unknown
-- flops, never zero.
CREATE OR REPLACE TEMP VIEW operator_cost AS
  SELECT unnest(string_split(operators, ' ')) AS operator, rule, factor, moves FROM (VALUES
    ('Conv FusedConv NhwcConv NhwcFusedConv ConvInteger', 'conv', 2, 'all'),
    -- XLA's calls of cuDNN. The filters are [out, kernel..., in], which has as many elements; a workspace is behind the
    -- output.
    ('__cudnn$convForward __cudnn$convBiasActivationForward', 'conv', 2, 'first_output'),
    ('MatMul FusedMatMul TransposeMatMul MatMulInteger MatMulInteger16', 'matmul', 2, 'all'),
    ('MatMulIntegerToFloat DynamicQuantizeMatMul', 'matmul', 2, 'all'), ('ConvTranspose', 'conv_transpose', 2, 'all'),
    ('MatMulNBits MatMulBnb4 MatMulFpQ4', 'packed', 2, 'all'), ('GroupQueryAttention', 'cached_attention', 2, 'all'),
    ('QLinearConv', 'quantised_conv', 2, 'all'), ('QLinearMatMul', 'quantised_matmul', 2, 'all'),
    ('Gemm FusedGemm', 'gemm', 2, 'all'), ('QGemm', 'quantised_gemm', 2, 'all'),
    ('LSTM GRU RNN DynamicQuantizeLSTM', 'recurrent', 2, 'all'), ('Attention QAttention', 'attention', 2, 'all'),
    ('MultiHeadAttention DecoderMaskedMultiHeadAttention', 'multi_head_attention', 2, 'all'),
    -- One flop for each output element, or as many as the formula of the operator has.
    ('Add Sub Mul Div Mod QLinearAdd QLinearMul QLinearLeakyRelu', 'output', 1, 'all'),
    ('PRelu LeakyRelu ThresholdedRelu Elu Selu Celu CumSum Reciprocal', 'output', 1, 'all'),
    ('BatchNormalization HardSigmoid Sigmoid Softplus QLinearSigmoid', 'output', 2, 'all'),
    ('Swish QuickGelu Silu HardSwish RotaryEmbedding', 'output', 3, 'all'),
    ('Gelu', 'output', 4, 'all'), ('BiasGelu', 'output', 5, 'all'), ('FastGelu', 'output', 8, 'all'),
    ('Softmax LogSoftmax BiasSoftmax QLinearSoftmax', 'output', 3, 'all'),
    ('LayerNormalization InstanceNormalization GroupNormalization GroupNorm', 'output', 7, 'all'),
    ('SkipLayerNormalization', 'output', 8, 'all'),
    ('EmbedLayerNormalization QEmbedLayerNormalization', 'output', 9, 'gather'),
    ('SimplifiedLayerNormalization RMSNormalization', 'output', 4, 'all'),
    ('SkipSimplifiedLayerNormalization', 'output', 5, 'all'),
    ('MeanVarianceNormalization', 'output', 6, 'all'), ('LpNormalization', 'output', 3, 'all'),
    ('Sum Mean', 'each_input', 1, 'all'),
    -- Reductions: an addition for each input element. Overlapping windows add some elements more than once, which the
    -- shapes do not show, so the flops of AveragePool are a lower bound there.
    ('GlobalAveragePool AveragePool ReduceSum ReduceMean ReduceL1 QLinearReduceMean', 'input', 1, 'all'),
    ('QLinearGlobalAveragePool QLinearAveragePool', 'input', 1, 'all'),
    ('ReduceL2 ReduceSumSquare GlobalLpPool', 'input', 2, 'all'),
    -- These do no arithmetic. Conversions to 8 bits and back do not count either: a quantised model computes the same
    -- as its original.
    ('Relu Clip Max Min Abs Neg Sign Floor Ceil Round Not And Or Xor Equal Greater Less', 'none', 0, 'all'),
    ('GreaterOrEqual LessOrEqual Where IsNaN IsInf MaxPool GlobalMaxPool ReduceMax ReduceMin', 'none', 0, 'all'),
    ('ArgMax ArgMin TopK NonZero Exp Log Sqrt Erf Tanh Sin Cos Pow Softsign', 'none', 0, 'all'),
    ('ReorderInput ReorderOutput Transpose Concat Split Cast Pad Tile Expand Range', 'none', 0, 'all'),
    ('ConstantOfShape OneHot Trilu DepthToSpace SpaceToDepth ScatterND ScatterElements', 'none', 0, 'all'),
    ('Dropout MemcpyToHost MemcpyFromHost Compress Upsample QLinearConcat QLinearWhere', 'none', 0, 'all'),
    ('QuantizeLinear DequantizeLinear DynamicQuantizeLinear', 'none', 0, 'all'),
    ('Gather GatherElements GatherND Slice GatherBlockQuantized', 'none', 0, 'gather'),
    ('Reshape Squeeze Unsqueeze Flatten Identity Shape Size Constant', 'none', 0, 'view'),
    -- TensorRT's conversions of layouts, and layers that run nothing on the device.
    ('Reformat NoOp shape_call', 'none', 0, 'all'),
    -- PyTorch's operators; the bias is the first input of addmm and similar ones.
    ('conv1d conv2d conv3d convolution _convolution cudnn_convolution cudnn_convolution_relu', 'conv', 2, 'all'),
    ('cudnn_convolution_add_relu thnn_conv2d _conv_depthwise2d conv_depthwise3d', 'conv', 2, 'all'),
    ('mkldnn_convolution', 'conv', 2, 'all'),
    ('conv_transpose1d conv_transpose2d conv_transpose3d', 'conv_transpose', 2, 'all'),
    ('matmul mm bmm mv dot _int_mm', 'matmul', 2, 'all'),
    ('linear', 'linear', 2, 'all'),
    ('addmm addmm_ baddbmm baddbmm_ _addmm_activation addmv', 'addmm', 2, 'all'),
    ('lstm gru rnn_tanh rnn_relu', 'recurrent_list', 2, 'all'),
    ('scaled_dot_product_attention _scaled_dot_product_flash_attention', 'scaled_attention', 2, 'all'),
    ('_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention', 'scaled_attention', 2, 'all'),
    ('_scaled_dot_product_attention_math', 'scaled_attention', 2, 'all'),
    ('_scaled_dot_product_fused_attention_overrideable', 'scaled_attention', 2, 'all'),
    ('_scaled_dot_product_flash_attention_for_cpu', 'scaled_attention', 2, 'all'),
    ('add add_ sub sub_ rsub mul mul_ div div_ reciprocal reciprocal_ cumsum leaky_relu', 'output', 1, 'all'),
    ('leaky_relu_ prelu _prelu_kernel elu elu_ selu celu', 'output', 1, 'all'),
    ('batch_norm native_batch_norm cudnn_batch_norm _native_batch_norm_legit_no_training', 'output', 2, 'all'),
    ('_batch_norm_impl_index sigmoid sigmoid_ hardsigmoid hardsigmoid_ softplus addcmul', 'output', 2, 'all'),
    ('addcmul_', 'output', 2, 'all'),
    ('silu silu_ hardswish hardswish_ softmax _softmax log_softmax _log_softmax', 'output', 3, 'all'),
    ('gelu gelu_ rms_norm _fused_rms_norm', 'output', 4, 'all'),
    ('layer_norm native_layer_norm group_norm native_group_norm instance_norm', 'output', 7, 'all'),
    ('mean sum avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d', 'input', 1, 'all'),
    ('_adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool3d', 'input', 1, 'all'),
    ('relu relu_ relu6 relu6_ hardtanh hardtanh_ clamp clamp_ clamp_min clamp_min_ tanh tanh_ exp', 'none', 0, 'all'),
    ('sqrt rsqrt pow erf sin cos neg abs max min amax amin maximum minimum argmax topk sort where', 'none', 0, 'all'),
    ('masked_fill masked_fill_ max_pool1d max_pool2d max_pool3d max_pool2d_with_indices', 'none', 0, 'all'),
    ('adaptive_max_pool2d eq ne lt le gt ge logical_and logical_or logical_not bitwise_and', 'none', 0, 'all'),
    ('bitwise_or bitwise_not cat concat stack copy_ clone contiguous to _to_copy pad', 'none', 0, 'all'),
    ('quantize_per_tensor quantize_per_channel dequantize', 'none', 0, 'all'),
    ('constant_pad_nd roll repeat flip tril triu channel_shuffle pixel_shuffle upsample_nearest2d', 'none', 0, 'all'),
    ('fill_ zero_ zeros ones full arange zeros_like ones_like full_like', 'none', 0, 'all'),
    ('embedding index index_select gather', 'none', 0, 'gather'),
    ('view _unsafe_view view_as reshape flatten unflatten squeeze squeeze_ unsqueeze unsqueeze_', 'none', 0, 'view'),
    ('transpose transpose_ permute t expand expand_as slice select narrow split split_with_sizes', 'none', 0, 'view'),
    ('chunk unbind detach alias as_strided dropout dropout_ feature_dropout size empty', 'none', 0, 'view'),
    ('empty_like empty_strided _reshape_alias as_strided_ resolve_conj resolve_neg unsafe_split', 'none', 0, 'view'),
    ('unsafe_chunk tensor_split movedim swapaxes diagonal numpy_T mT mH unfold lift_fresh detach_', 'none', 0, 'view'),
    -- OpenCV's operators, which are Caffe's.
    ('Convolution', 'conv', 2, 'all'), ('Deconvolution', 'conv_transpose', 2, 'all'),
    ('InnerProduct', 'linear', 2, 'all'), ('Eltwise', 'each_input', 1, 'all'),
    ('BatchNorm Scale', 'output', 2, 'all'), ('Power PReLU ELU', 'output', 1, 'all'),
    ('AvePooling', 'input', 1, 'all'), ('MaxPooling ReLU ReLU6 TanH', 'none', 0, 'all'),
    ('Permute', 'none', 0, 'all'),
    -- MXNet's operators, with oneDNN's fusions.
    ('_sg_mkldnn_conv', 'conv', 2, 'all'), ('FullyConnected _sg_mkldnn_fully_connected', 'linear', 2, 'all'),
    ('elemwise_add broadcast_add Plus', 'output', 1, 'all'), ('SoftmaxOutput', 'output', 3, 'all'),
    -- ggml's operators.
    ('MUL_MAT', 'linear', 2, 'all'), ('ADD MUL', 'output', 1, 'all'), ('ROPE SILU SWIGLU', 'output', 3, 'all'),
    ('RMS_NORM', 'output', 4, 'all'), ('SOFT_MAX', 'output', 3, 'all'), ('CONT CPY DUP', 'none', 0, 'all'),
    ('SET_ROWS', 'none', 0, 'all'), ('GET_ROWS', 'none', 0, 'gather'),
    -- TensorFlow's operators, by their plain names (operator_of); images and weights have their channels last.
    ('Conv2D Conv3D FusedConv2D FusedConv3D PadWithConv2D PadWithFusedConv2D', 'conv_last', 2, 'all'),
    ('QuantizedConv2D FusedQuantizedConv2D', 'conv_last', 2, 'all'),
    ('DepthwiseConv2dNative FusedDepthwiseConv2dNative', 'depthwise_last', 2, 'all'),
    ('QuantizedDepthwiseConv2D FusedQuantizedDepthwiseConv2D', 'depthwise_last', 2, 'all'),
    ('Conv2DBackpropInput Conv3DBackpropInput Conv3DBackpropInputV2', 'conv_last_input', 2, 'all'),
    ('Conv2DBackpropFilter Conv3DBackpropFilter Conv3DBackpropFilterV2', 'conv_last_filter', 2, 'all'),
    ('DepthwiseConv2dNativeBackpropInput', 'depthwise_last_input', 2, 'all'),
    ('DepthwiseConv2dNativeBackpropFilter', 'depthwise_last_filter', 2, 'all'),
    ('BatchMatMul BatchMatMulV2 BatchMatMulV3 FusedBatchMatMulV2 QuantizedMatMul', 'matmul', 2, 'all'),
    ('FusedMatMulGrad', 'matmul', 2, 'all'),
    ('FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormEx', 'output', 2, 'all'),
    -- The sums of the gradient and of its products, and then the gradient of the input from both.
    ('FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormGradEx', 'output', 9, 'all'),
    ('FusedInstanceNorm LayerNorm', 'output', 7, 'all'), ('TanhGrad', 'output', 3, 'all'),
    ('SquaredDifference FusedMish EluGrad', 'output', 2, 'all'),
    ('BiasAdd AddV2 RealDiv LeakyReluGrad AvgPoolGrad AvgPool3DGrad', 'output', 1, 'all'),
    ('AvgPool AvgPool3D QuantizedAvgPool', 'input', 1, 'all'),
    ('Relu6 Rsqrt ConcatV2 Pack PadV2 MaxPool3D ConjugateTranspose ReluGrad Relu6Grad', 'none', 0, 'all'),
    ('Maximum Minimum InputConversion ToTf', 'none', 0, 'all'), ('AddN', 'each_input', 1, 'all'),
    ('MaxPoolGrad MaxPool3DGrad QuantizedMaxPool QuantizedConcatV2 Dequantize QuantizeV2', 'none', 0, 'all'),
    ('GatherV2 StridedSlice ReadVariableOp', 'none', 0, 'gather'), ('ExpandDims IdentityN', 'none', 0, 'view')
  ) AS t(operators, rule, factor, moves);

-- Returns the length of the sums in a matrix product a b = c: the other dimension of a, which may be transposed.
CREATE OR REPLACE TEMP MACRO reduced_length(a, b, c) AS
  CASE WHEN len(a) = 1 THEN a[1] WHEN len(b) = 1 THEN b[1] ELSE a[-1] * a[-2] / nullif(c[-2], 0) END;
-- Returns the flops of an attention: batch, length of the queries, length of the keys, width of the queries and of the
-- values.
CREATE OR REPLACE TEMP MACRO attention_flops(b, q, k, query_width, value_width) AS
  2.0 * b * q * k * (query_width + value_width);
-- Returns the flops of one execution, by the rule of operator_cost. NULL: the shapes are not enough.
CREATE OR REPLACE TEMP MACRO operator_flops(rule, factor, i, o) AS CASE rule
  WHEN 'none' THEN 0
  WHEN 'output' THEN factor * elements(o[1])
  WHEN 'input' THEN factor * elements(i[1])
  -- TensorFlow's Sum and Mean are reductions, and their second input is the axes.
  WHEN 'each_input' THEN CASE WHEN elements(o[1]) < elements(i[1]) THEN factor * elements(i[1])
    ELSE factor * (len(i) - 1) * elements(o[1]) END
  -- Weights are [M, C / group, kernel...], so groups and depthwise convolutions need no attribute. The last input of a
  -- fused convolution, which is the fourth if it has a bias, is added to its result.
  WHEN 'conv' THEN 2 * elements(o[1]) * CASE WHEN len(i[2]) > 2 THEN elements(i[2][2:]) END
    + CASE WHEN len(i) >= 3 AND i[-1] = o[1] THEN elements(o[1]) ELSE 0 END
  -- Weights are [kernel..., C / group, M], and [kernel..., C, M / C] in a depthwise convolution.
  WHEN 'conv_last' THEN 2 * elements(o[1]) * elements(i[2][:-2])
  WHEN 'depthwise_last' THEN 2 * elements(o[1]) * elements(i[2][:-3])
  -- Gradients of these convolutions. The inputs for the gradient of the input are its sizes, the weights, and the
  -- gradient of the output. The inputs for the gradient of the weights are the input, the weights' sizes, and the
  -- gradient of the output.
  WHEN 'conv_last_input' THEN 2 * elements(i[3]) * elements(i[2][:-2])
  WHEN 'conv_last_filter' THEN 2 * elements(i[3]) * elements(o[1][:-2])
  WHEN 'depthwise_last_input' THEN 2 * elements(i[3]) * elements(i[2][:-3])
  WHEN 'depthwise_last_filter' THEN 2 * elements(i[3]) * elements(o[1][:-3])
  WHEN 'conv_transpose' THEN 2 * elements(i[1]) * elements(i[2][2:])
  WHEN 'matmul' THEN 2 * elements(o[1]) * reduced_length(i[1], i[2], o[1])
  WHEN 'linear' THEN 2 * elements(o[1]) * i[2][-1]
  WHEN 'addmm' THEN 2 * elements(o[1]) * i[2][-1]
  -- Queries, keys and values are [..., length, width].
  WHEN 'scaled_attention' THEN CASE WHEN len(i) >= 3 AND len(i[1]) >= 2 THEN
    attention_flops(elements(i[1][:-3]), i[1][-2], i[2][-2], i[1][-1], i[3][-1]) END
  WHEN 'gemm' THEN 2 * elements(o[1]) * elements(i[2]) / nullif(o[1][-1], 0)
  -- The scale and the zero point of each tensor follow it.
  WHEN 'quantised_conv' THEN 2 * elements(o[1]) * CASE WHEN len(i[4]) > 2 THEN elements(i[4][2:]) END
  WHEN 'quantised_matmul' THEN 2 * elements(o[1]) * reduced_length(i[1], i[4], o[1])
  WHEN 'quantised_gemm' THEN 2 * elements(o[1]) * elements(i[4]) / nullif(o[1][-1], 0)
  -- The weights' shape is that of their packed form.
  WHEN 'packed' THEN 2 * elements(o[1]) * i[1][-1]
  WHEN 'recurrent' THEN 2 * i[1][1] * i[1][2] * (elements(i[2]) + elements(i[3]))
  -- The inputs are a batch of sequences, the states, which also have three dimensions, and then all weights and biases.
  WHEN 'recurrent_list' THEN CASE WHEN len(i[1]) = 3 THEN 2 * i[1][1] * i[1][2] *
    list_sum(list_transform(list_filter(i, lambda s: len(s) = 2), lambda s: elements(s))) END
  -- With weights [in, query + key + value], the operator includes the projections; otherwise its inputs are already
  -- projected.
  WHEN 'attention' THEN CASE
    WHEN len(i[1]) = 3 AND len(i[2]) = 2 THEN 2 * i[1][1] * i[1][2] * elements(i[2])
      + attention_flops(i[1][1], i[1][2], CASE WHEN len(o[2]) = 5 THEN o[2][4] ELSE i[1][2] END,
                        (i[2][2] - o[1][3]) / 2, o[1][3])
    WHEN len(i[1]) = 3 AND len(i[2]) = 3 THEN
      attention_flops(i[1][1], i[1][2], i[2][2], i[1][3], o[1][3])
    WHEN len(i[1]) = 4 AND len(i[2]) = 4 THEN
      attention_flops(i[1][1], i[1][3], i[2][3], i[1][2] * i[1][4], o[1][2] * o[1][4]) END
  WHEN 'multi_head_attention' THEN CASE
    WHEN len(i[1]) = 3 AND len(i[2]) >= 3 THEN
      attention_flops(i[1][1], i[1][2], i[2][len(i[2]) - 1], i[1][3], o[1][3]) END
  WHEN 'cached_attention' THEN CASE
    WHEN len(o[2]) = 4 THEN attention_flops(o[1][1], o[1][2], o[2][3], o[1][3], o[1][3]) END
  END;
CREATE OR REPLACE TEMP MACRO operator_bytes(moves, i, o, input_types, output_types) AS CASE moves
  WHEN 'view' THEN 0
  WHEN 'gather' THEN 2 * tensor_bytes(o, output_types)
  WHEN 'first_output' THEN tensor_bytes(i, input_types) + tensor_bytes(o[:1], output_types[:1])
  ELSE tensor_bytes(i, input_types) + tensor_bytes(o, output_types) END;

-- Returns the type of a layer's arithmetic by its data: integers if some of them have 8 bits; 'unpacked' if the data
-- does not tell. An output behind the first may be a library's workspace, of bytes.
CREATE OR REPLACE TEMP MACRO arithmetic_of(type, input_types, output_types) AS CASE
  WHEN regexp_matches(type, 'MatMul(NBits|Bnb4|FpQ4)$') THEN 'unpacked'
  WHEN list_has_any(list_append(input_types, output_types[1]), ['int8', 'uint8']) THEN 'int8'
  WHEN input_types[1] = 'float64' THEN 'fp64' WHEN input_types[1] = 'float16' THEN 'fp16'
  WHEN input_types[1] = 'bfloat16' THEN 'bf16' ELSE 'fp32' END;

-- Returns whether the inputs are those of a convolution each of whose filters reads one channel: it multiplies no
-- matrices that would fit tensor cores. The weights are [out, in / groups, ...], after data of [batch, in, ...]; XLA's,
-- for cuDNN, are [out, ..., in / groups], after data of [batch, ..., in].
CREATE OR REPLACE TEMP MACRO is_depthwise(type, inputs) AS coalesce(len(inputs[2]) >= 3
  AND CASE WHEN starts_with(type, '__cudnn$') THEN inputs[2][-1] = 1 AND inputs[1][-1] > 1
    ELSE inputs[2][2] = 1 AND inputs[1][2] > 1 END, false);

-- layers() with the flops and bytes of each layer in one inference.
--
-- If layers nest (operators in operators, in modules), each flop and each byte is counted once, in the outermost layer
-- whose operator and shapes give it. Views are ignored, because the layers inside may copy. `flops_in` is the place of
-- the count: 'itself'; 'outer': in the layer around it that has them, `cost_layer`; 'inner': in layers inside it, for a
-- module or for an operator without a formula that consists of others which compute. NULL: nowhere, and `unknown` is
-- the missing part: the operator's formula, its shapes, or its element types (flops are known then). cost_ns is the
-- time of the work that is counted here: with nested layers, if they are counted here, else the layer's own. A layer's
-- position is that of its first execution. is_matrix tells whether it consists of matrix products (NULL: not known),
-- and is_of_cudnn whether cuDNN's settings apply to it on a GPU.
CREATE OR REPLACE TEMP TABLE layer_cost AS
  WITH RECURSIVE first AS MATERIALIZED (FROM layers(asked_batch())),
  -- Few of many spans match, so the wanted ones are the side of the join that is looked up.
  parent AS MATERIALIZED (
    SELECT span_id AS parent_id, site_id AS outer_site FROM span
    WHERE run_id = chosen_layer_run(asked_batch()) AND level = 3 AND span_id IN (SELECT parent_id FROM first)),
  executed AS MATERIALIZED (
    SELECT l.* EXCLUDE (parent_id), outer_site FROM first l LEFT JOIN parent USING (parent_id)),
  around AS MATERIALIZED (SELECT DISTINCT outer_site AS site_id, true AS has_inner FROM executed),
  layer AS MATERIALIZED (
    SELECT l.*, s.inputs, s.outputs, s.input_types, s.output_types, operator, moves,
      rule NOT IN ('none', 'output', 'input', 'each_input') AS is_matrix,
      coalesce(rule LIKE '%conv%' OR rule LIKE 'depthwise%' OR rule LIKE 'recurrent%', is_convolution(l.type))
        AS is_of_cudnn,
      per_inference * operator_flops(rule, factor, inputs, outputs) AS own_flops,
      -- Code that a compiler generated around a lookup reads some rows of its table; the shapes do not tell how many.
      CASE WHEN moves IS NULL AND regexp_matches(lower(l.type), 'embedding|gather|index') THEN NULL
        ELSE per_inference * operator_bytes(moves, inputs, outputs, input_types, output_types) END AS own_bytes
    FROM executed l LEFT JOIN layer_shapes(asked_batch()) s USING (site_id) LEFT JOIN around USING (site_id)
      LEFT JOIN operator_cost ON operator = operator_of(l.type)
        -- A module of PyTorch may have an operator's name, but is not an operator.
        AND (inputs IS NOT NULL OR has_inner IS NULL)),
  -- Goes from the outermost layers inwards, and finds the layer around each that has its costs.
  inwards AS (
    SELECT site_id, CAST(NULL AS INTEGER) AS around,
      CASE WHEN own_flops IS NOT NULL AND moves <> 'view' THEN site_id END AS inner_around
    FROM layer WHERE outer_site IS NULL OR outer_site NOT IN (SELECT site_id FROM layer)
    UNION
    SELECT l.site_id, i.inner_around,
      coalesce(i.inner_around, CASE WHEN own_flops IS NOT NULL AND moves <> 'view' THEN l.site_id END)
    FROM layer l JOIN inwards i ON l.outer_site = i.site_id),
  -- Goes outwards from the layers that are counted, and sums what is counted inside each.
  outwards AS (
    SELECT l.site_id AS counted_site, l.outer_site AS site_id, own_flops FROM layer l JOIN inwards i USING (site_id)
    WHERE i.around IS NULL AND own_flops IS NOT NULL AND l.outer_site IS NOT NULL
    UNION
    SELECT o.counted_site, l.outer_site, o.own_flops FROM outwards o JOIN layer l USING (site_id)
    WHERE l.outer_site IS NOT NULL),
  inside AS (SELECT site_id, sum(own_flops) AS inside_flops FROM outwards GROUP BY site_id),
  placed AS (
    SELECT l.*, CASE WHEN i.around IS NOT NULL THEN 'outer' WHEN own_flops IS NOT NULL THEN 'itself'
        WHEN inside_flops > 0 OR (inside_flops IS NOT NULL AND NOT coalesce(contains(type, '::'), false))
          THEN 'inner' END AS flops_in, i.around, inside_flops
    FROM layer l LEFT JOIN inwards i USING (site_id) LEFT JOIN inside USING (site_id))
  SELECT p.* EXCLUDE (outer_site, operator, moves, own_flops, own_bytes, around, inside_flops),
    CASE WHEN p.flops_in = 'itself' THEN p.own_flops END AS flops,
    CASE WHEN p.flops_in = 'itself' OR (p.flops_in IS NULL AND p.inside_flops IS NULL) THEN p.own_bytes END AS bytes,
    CASE WHEN p.flops_in IN ('outer', 'inner') THEN NULL
         WHEN p.operator IS NULL THEN 'operator' WHEN p.inputs IS NULL OR p.outputs IS NULL THEN 'shapes'
         WHEN p.own_flops IS NULL THEN 'shapes' WHEN p.own_bytes IS NULL THEN 'types' END AS unknown,
    coalesce(a.name, p.name) AS cost_layer, coalesce(a.site_id, p.site_id) AS cost_site,
    CASE WHEN p.flops_in = 'itself' AND p.moves <> 'view' THEN p.latency_ns ELSE p.self_ns END AS cost_ns
  FROM placed p LEFT JOIN layer a ON a.site_id = p.around;
