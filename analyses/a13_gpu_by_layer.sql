-- @id a13
-- @name gpu_by_layer
-- @title GPU and non-GPU time by layer
-- @question How much of each layer's latency is spent in its kernels, and how much outside them?
-- GPU time is the union of the times of the layer's own kernels over all streams, from the kernel run. The layer's
-- latency, without nested layers, comes from the layer run. The rest of the latency is non-GPU time. If kernels run
-- asynchronously, a layer may finish launching before its kernels finish. The kernels' time then counts as all of the
-- layer's time, and `asynchronous` says so. If layers are in a CUDA graph, all layers are timed on the device, and the
-- rest is the time between a layer's kernels, and that of its copies and fills.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view stacked_bar x=index y=gpu_pct,non_gpu_pct
-- @view table caption=batch,time_of columns=index,layer,type,latency_ns,gpu_ns,non_gpu_ns,gpu_pct,asynchronous
-- @view table by=latency_ns top=20 bar=gpu_pct
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column latency_ns ns Mean over the typical inferences of the layer's latency, without nested layers.
-- @column time_of text Clock of latency_ns: host; or device, if layers are in a CUDA graph.
-- @column gpu_ns ns Union of the kernels' times in one inference; empty: the kernel run does not have the layer.
-- @column non_gpu_ns ns Part of latency_ns that exceeds gpu_ns.
-- @column gpu_pct pct Share of gpu_ns in the longer of latency_ns and gpu_ns.
-- @column non_gpu_pct pct Share of non_gpu_ns in the longer of latency_ns and gpu_ns.
-- @column asynchronous bool Whether the kernels take longer than the layer.
WITH layer AS (
  SELECT l.batch, l.ordinal, l.name, l.type, l.latency_ns, l.time_of, l.kernel_ns * coalesce(cover, 1) AS gpu_ns
  FROM layer_kernel l LEFT JOIN layer_cover c ON c.layer = l.name
  WHERE l.ordinal IS NOT NULL)
SELECT batch, ordinal AS index, name AS layer, type, latency_ns, time_of, gpu_ns,
  CASE WHEN gpu_ns > latency_ns THEN 0 ELSE latency_ns - gpu_ns END AS non_gpu_ns,
  pct(gpu_ns, greatest(latency_ns, gpu_ns)) AS gpu_pct,
  pct(CASE WHEN gpu_ns > latency_ns THEN 0 ELSE latency_ns - gpu_ns END, greatest(latency_ns, gpu_ns)) AS non_gpu_pct,
  gpu_ns > latency_ns AS asynchronous
FROM layer
ORDER BY ordinal
