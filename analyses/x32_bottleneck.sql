-- @id x32
-- @name bottleneck
-- @title Bottleneck
-- @question Which single thing delays an inference, or a step, most?
-- The model's latency is divided into parts that add up to it, and the bottleneck is the largest of them; of equal
-- parts it is the first in the order of the columns. All time in which no kernel runs counts as one part at first, and
-- if it is the largest, the bottleneck is the largest part of it: faster kernels would gain less. For a program that
-- was watched and ran on a GPU, the time of a step is divided. On a GPU, the time in which no kernel runs is divided by
-- the things that the GPU waits for, as in gpu_idle. `launch` is launching, and is the cause of that name in
-- time_of_step. `device` is the wait for the start of a launched kernel. `copy` is the copying of data, or its
-- preparation. `host` is all other work of the host, which time_of_step divides. The time in which kernels run is
-- divided by the limit of the kernels, as in hierarchical_roofline: memory-bound, l2-bound, compute-bound, or
-- latency-bound, if no ceiling explains a tenth of the kernel's time; or communication (NCCL). A kernel that
-- layer_counted_roofline calls bound by compute may be l2-bound here, because a roofline knows arithmetic and memory
-- alone. Where no counters were recorded, the roof of the layer by its shapes tells the limit. The causes `compute` and
-- `other kernels` of time_of_step go by the kind of the work alone: a product of matrices that waits for its data is
-- compute there, and memory-bound here. The time without kernels is the latency, or the step, minus the time of the
-- kernels, and has the proportions of the run that recorded them. On a CPU, the parts are the limits of the layers
-- (layer_roofline) and the runtime between them, in the run that recorded the layers. The limit of the kernels, or
-- layers, alone is only a detail: if the GPU waits for the host, faster kernels gain nothing.
-- @needs model
-- @doubts kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch,bottleneck columns=finding,work_bound,work_bound_pct
-- @column batch count Inputs per inference.
-- @column bottleneck text The part below that delays the most, such as launch or memory-bound; or unknown.
-- @column share_pct pct Share of the bottleneck in the latency; empty: the measurement is in doubt.
-- @column finding text The bottleneck as a sentence.
-- @column work text The work of the inference: kernels, or layers on a CPU; empty: none was recorded.
-- @column work_bound text Its main limit: memory, l2, compute, latency, communication, unknown; empty: in doubt.
-- @column work_bound_pct pct Share of that limit in the time of the kernels, or layers.
-- @column ceiling_pct pct Share of its ceiling that the kernels of the bottleneck reach; empty: not counted.
-- @column work_pct pct Share of the kernels, or layers, in the latency.
-- @column host_pct pct Part of the latency: waiting for the host (code, framework, data, allocation, synchronisation).
-- @column launch_pct pct Part of the latency: waiting until the next kernel is launched.
-- @column device_pct pct Part of the latency: waiting until a launched kernel starts.
-- @column memory_bound_pct pct Part of the latency: work that the memory limits.
-- @column l2_bound_pct pct Part of the latency: kernels that the L2 cache limits.
-- @column compute_bound_pct pct Part of the latency: work that arithmetic limits.
-- @column latency_bound_pct pct Part of the latency: kernels of which no ceiling explains a tenth; they are too small.
-- @column communication_pct pct Part of the latency: kernels that exchange data between devices.
-- @column copy_pct pct Part of the latency: data are copied, and no kernel runs.
-- @column runtime_pct pct Part of the latency on a CPU: the time between layers.
-- @column unknown_pct pct Rest of the latency: work whose limit is not known, or of which nothing was recorded.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
model AS MATERIALIZED (
  SELECT m.batch, coalesce(p.step_ns, m.latency_ns) AS latency_ns, coalesce(r.device LIKE 'cuda%', false) AS is_gpu,
    CASE WHEN p.step_ns IS NULL THEN 'an inference' ELSE 'a step' END AS unit
  FROM model_latency m JOIN run_device r USING (run_id)
    LEFT JOIN (FROM program_step WHERE on_device) p ON p.batch = m.batch
  WHERE m.batch = (SELECT batch FROM wanted)),
-- Times that recording distorted, or that something else disturbed, are not used. The durations of kernels come from
-- the device's own clock, which recording does not slow.
bad AS (
  SELECT string_agg(DISTINCT doubt, '; ') AS doubt FROM level_doubt d, model m
  WHERE d.batch = m.batch AND CASE WHEN is_gpu THEN level = 6 AND kind = 'disturbed'
                                   ELSE level = 3 AND kind IN ('distorted', 'disturbed') END),
layer AS MATERIALIZED (
  SELECT *, CASE WHEN least_ns(flops, bytes, peak_low_flops, peak_bytes) < 0.1 * kernel_ns THEN 'latency'
    ELSE bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes) END AS bound
  FROM layer_roof),
-- On a GPU: the device's time with and without kernels.
cause AS MATERIALIZED (
  FROM device_cause WHERE cause <> 'recording' AND (SELECT is_gpu FROM model)),
busy AS (SELECT least(max(duration_ns), (SELECT latency_ns FROM model)) AS ns FROM cause WHERE cause = 'busy'),
kernel AS (
  -- Kernels that run at once share their time: each has the moments that time_of_step gives to it.
  SELECT f.latency_ns * coalesce(o.alone_ns / o.part_ns, 1) AS ns,
    CASE WHEN starts_with(lower(f.name), 'nccl') THEN 'communication'
      WHEN counted IS NULL THEN
        kernel_limit(f.flops, l2_bytes, dram_bytes, f.peak_flops, peak_l2_bytes, f.peak_bytes, f.latency_ns)
      ELSE c.bound END AS bound,
    CASE WHEN counted IS NULL THEN
      pct(allowed_ns(f.flops, l2_bytes, dram_bytes, f.peak_flops, peak_l2_bytes, f.peak_bytes), f.latency_ns) END
      AS ceiling_pct
  FROM kernel_fact f
    LEFT JOIN overlapped_part o ON o.layer = coalesce(f.layer, 'no layer') AND o.kernel = kernel_label(f.name)
    LEFT JOIN (SELECT DISTINCT ON (name) name, cost_layer FROM layer) own ON own.name = f.layer
    LEFT JOIN (SELECT DISTINCT ON (name) name, bound FROM layer) c ON c.name = own.cost_layer
  WHERE (SELECT is_gpu FROM model)),
-- On a CPU: the layers, in the run that recorded them.
host_layer AS (
  SELECT c.bound, l.self_ns AS ns FROM layer l LEFT JOIN layer c ON c.site_id = l.cost_site
  WHERE NOT (SELECT is_gpu FROM model)),
host_whole AS (
  SELECT greatest(r.latency_ns, (SELECT sum(ns) FROM host_layer)) AS ns FROM run_latency r
  WHERE r.run_id = chosen_layer_run((SELECT batch FROM wanted)) AND EXISTS (FROM host_layer)),
-- Shares of the latency: the subject of each, and whether it is work.
part AS MATERIALIZED (
  SELECT CASE WHEN bound IN ('memory', 'l2', 'compute', 'latency') THEN concat(bound, '-bound')
      WHEN bound = 'communication' THEN bound ELSE 'unknown' END AS what,
    true AS is_work,
    pct(sum(ns) / (SELECT sum(ns) FROM kernel) * (SELECT ns FROM busy), (SELECT latency_ns FROM model)) AS share_pct
  FROM kernel GROUP BY what
  UNION ALL
  SELECT CASE WHEN cause IN ('copy', 'copy preparation') THEN 'copy' WHEN cause IN ('launch', 'device') THEN cause
      ELSE 'host' END,
    false, pct(sum(duration_ns) / (SELECT sum(duration_ns) FROM cause WHERE cause <> 'busy') *
               ((SELECT latency_ns FROM model) - (SELECT ns FROM busy)), (SELECT latency_ns FROM model))
  FROM cause WHERE cause <> 'busy' GROUP BY 1
  UNION ALL
  SELECT CASE WHEN bound IN ('memory', 'compute') THEN concat(bound, '-bound') ELSE 'unknown' END, true,
    pct(sum(ns), (SELECT ns FROM host_whole))
  FROM host_layer GROUP BY 1
  UNION ALL
  SELECT 'runtime', false, pct(ns - (SELECT sum(ns) FROM host_layer), ns) FROM host_whole),
-- The rest, of which nothing was recorded.
whole AS MATERIALIZED (
  SELECT what, is_work, share_pct FROM part WHERE share_pct > 0
  UNION ALL
  SELECT 'unknown', false, 100 - coalesce(sum(share_pct), 0) FROM part HAVING coalesce(sum(share_pct), 0) < 99.999),
-- How near to its ceiling the kernels of a limit come.
nearness AS (
  SELECT concat(bound, '-bound') AS what, sum(ns * ceiling_pct) / sum(ns) AS ceiling_pct FROM kernel
  WHERE bound IN ('memory', 'l2', 'compute') GROUP BY bound HAVING bool_and(ceiling_pct IS NOT NULL)),
headline AS (
  SELECT what, sum(share_pct) AS share_pct FROM whole GROUP BY what
  ORDER BY sum(sum(share_pct)) OVER (
      PARTITION BY CASE WHEN what IN ('host', 'launch', 'device', 'copy') THEN 'idle' ELSE what END) DESC,
    sum(share_pct) DESC,
    list_position(['host', 'launch', 'device', 'memory-bound', 'l2-bound', 'compute-bound', 'latency-bound',
      'communication', 'copy', 'runtime', 'unknown'], what)
  LIMIT 1),
total AS (
  SELECT coalesce(sum(share_pct) FILTER (is_work), 0) AS work_pct,
    coalesce(sum(share_pct) FILTER (what = 'host'), 0) AS host_pct,
    coalesce(sum(share_pct) FILTER (what = 'launch'), 0) AS launch_pct,
    coalesce(sum(share_pct) FILTER (what = 'device'), 0) AS device_pct,
    coalesce(sum(share_pct) FILTER (what = 'memory-bound'), 0) AS memory_bound_pct,
    coalesce(sum(share_pct) FILTER (what = 'l2-bound'), 0) AS l2_bound_pct,
    coalesce(sum(share_pct) FILTER (what = 'compute-bound'), 0) AS compute_bound_pct,
    coalesce(sum(share_pct) FILTER (what = 'latency-bound'), 0) AS latency_bound_pct,
    coalesce(sum(share_pct) FILTER (what = 'communication'), 0) AS communication_pct,
    coalesce(sum(share_pct) FILTER (what = 'copy'), 0) AS copy_pct,
    coalesce(sum(share_pct) FILTER (what = 'runtime'), 0) AS runtime_pct,
    coalesce(sum(share_pct) FILTER (what = 'unknown'), 0) AS unknown_pct
  FROM whole),
work AS (
  SELECT replace(what, '-bound', '') AS what, share_pct FROM whole WHERE is_work ORDER BY share_pct DESC, what LIMIT 1)
SELECT m.batch, CASE WHEN bad.doubt IS NULL THEN h.what ELSE 'unknown' END AS bottleneck,
  CASE WHEN bad.doubt IS NULL THEN h.share_pct END AS share_pct,
  CASE WHEN bad.doubt IS NOT NULL THEN concat('The measurement is in doubt: ', bad.doubt, '.')
  ELSE concat(printf('For %.0f %% of %s ', h.share_pct, m.unit),
  CASE h.what
    WHEN 'host' THEN 'the GPU waits for the host'
    WHEN 'launch' THEN 'the GPU waits for the next launch'
    WHEN 'device' THEN 'the GPU has not started the kernel that is launched'
    WHEN 'memory-bound' THEN held_text('the memory', worker, n.ceiling_pct)
    WHEN 'l2-bound' THEN held_text('the L2 cache', worker, n.ceiling_pct)
    WHEN 'compute-bound' THEN held_text('arithmetic', worker, n.ceiling_pct)
    WHEN 'latency-bound' THEN
      'kernels run that neither memory nor arithmetic holds back: they are too small, or wait'
    WHEN 'communication' THEN 'kernels exchange data with other devices'
    WHEN 'copy' THEN 'data are copied and no kernel runs'
    WHEN 'runtime' THEN 'the runtime is busy between layers'
    ELSE CASE WHEN work_pct > 0 THEN concat(worker, ' run whose bound is not known')
              WHEN is_gpu THEN 'it is not known what the GPU does: its kernels were not recorded'
              ELSE 'it is not known what is done: its layers were not recorded' END END, '.',
  CASE WHEN is_gpu AND h.what IN ('host', 'launch', 'device', 'copy') AND idle_pct >= h.share_pct + 1
    THEN concat(printf(' No kernel runs for %.0f %% of ', idle_pct), m.unit,
      coalesce(': besides, ' || nullif(array_to_string(list_filter([
        CASE WHEN h.what <> 'host' AND host_pct >= 1 THEN printf('the host takes %.0f %%', host_pct) END,
        CASE WHEN h.what <> 'launch' AND launch_pct >= 1 THEN printf('launches take %.0f %%', launch_pct) END,
        CASE WHEN h.what <> 'device' AND device_pct >= 1 THEN printf('late starts take %.0f %%', device_pct) END,
        CASE WHEN h.what <> 'copy' AND copy_pct >= 1 THEN printf('copies take %.0f %%', copy_pct) END],
        lambda one: one IS NOT NULL), ', '), ''), ''), '.') END) END AS finding,
  CASE WHEN w.what IS NOT NULL THEN worker END AS work, CASE WHEN bad.doubt IS NULL THEN w.what END AS work_bound,
  CASE WHEN bad.doubt IS NULL THEN pct(w.share_pct, work_pct) END AS work_bound_pct,
  CASE WHEN bad.doubt IS NULL THEN n.ceiling_pct END AS ceiling_pct, t.*
FROM model m CROSS JOIN bad CROSS JOIN headline h CROSS JOIN total t LEFT JOIN work w ON true
  LEFT JOIN nearness n ON n.what = h.what
  CROSS JOIN (SELECT host_pct + launch_pct + device_pct + copy_pct AS idle_pct FROM total)
  CROSS JOIN (SELECT CASE WHEN is_gpu THEN 'kernels' ELSE 'layers' END AS worker FROM model)
