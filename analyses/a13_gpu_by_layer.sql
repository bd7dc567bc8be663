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
-- @column latency_ns ns Trimmed mean of the layer's latency in one inference, without nested layers.
-- @column time_of text Clock of latency_ns: host; or device, if layers are in a CUDA graph.
-- @column gpu_ns ns Union of the kernels' times in one inference; empty: the kernel run does not have the layer.
-- @column non_gpu_ns ns Part of latency_ns that exceeds gpu_ns.
-- @column gpu_pct pct Share of gpu_ns in the longer of latency_ns and gpu_ns.
-- @column non_gpu_pct pct Share of non_gpu_ns in the longer of latency_ns and gpu_ns.
-- @column asynchronous bool Whether the kernels take longer than the layer.
WITH wanted AS (
  SELECT chosen_run(6, CAST($batch AS INTEGER)) AS run_id, chosen_batch(6, CAST($batch AS INTEGER)) AS batch),
inference AS (
  SELECT process, iteration FROM measured_inference WHERE run_id = (SELECT run_id FROM wanted) AND is_typical),
kernel AS (
  SELECT layer_id, start_ns, start_ns + duration_ns AS end_ns,
    max(start_ns + duration_ns) OVER (PARTITION BY layer_id ORDER BY start_ns
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
  FROM span s JOIN inference i ON i.iteration = s.iteration AND i.process = coalesce(s.process, 0)
  WHERE run_id = (SELECT run_id FROM wanted) AND level = 6 AND is_kernel(type) AND layer_id IS NOT NULL),
busy AS (
  SELECT layer_id, sum(greatest(0, end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)))) AS busy_ns
  FROM kernel GROUP BY layer_id),
site AS (
  SELECT l.site_id, sum(coalesce(busy_ns, 0)) / (SELECT count(*) FROM inference) AS gpu_ns
  FROM span l JOIN inference i ON i.iteration = l.iteration AND i.process = coalesce(l.process, 0)
    LEFT JOIN busy ON busy.layer_id = l.span_id
  WHERE l.run_id = (SELECT run_id FROM wanted) AND l.level = 3
  GROUP BY l.site_id),
named AS (SELECT name, gpu_ns FROM site JOIN site_names([(SELECT run_id FROM wanted)], 3) USING (site_id)),
layer AS (
  SELECT l.batch, l.ordinal, l.name, l.type, l.self_ns AS latency_ns, l.time_of, gpu_ns,
    CASE WHEN gpu_ns > l.self_ns THEN 0 ELSE l.self_ns - gpu_ns END AS non_gpu_ns
  FROM layers((SELECT batch FROM wanted)) l LEFT JOIN named USING (name))
SELECT batch, ordinal AS index, name AS layer, type, latency_ns, time_of, gpu_ns, non_gpu_ns,
  pct(gpu_ns, greatest(latency_ns, gpu_ns)) AS gpu_pct, pct(non_gpu_ns, greatest(latency_ns, gpu_ns)) AS non_gpu_pct,
  gpu_ns > latency_ns AS asynchronous
FROM layer
ORDER BY ordinal
