-- @id x26
-- @name time_by_level
-- @title Time by level
-- @question How is the model's latency divided into types of layers, layers and kernels?
-- The rows are a tree: the model is divided into types of layers, a type into its layers, and a layer into its
-- kernels. The rows below a row add up to it exactly. Time that belongs to no part has a row of its own: `between
-- layers`, or on a GPU `no kernel runs`. The latter is divided by the causes for which the device waited (gpu_idle;
-- time_of_step has them for a program that was watched). `layers overlap` subtracts the time that parts take at the
-- same time. `less the cost of recording` takes off the time that recording the layers added. share_pct is the
-- layer's share of the inference in which it was recorded; recording is assumed to slow everything alike. On a GPU, a
-- layer's own time is the time to launch it, and its parts are its kernels. Recording does not change their durations,
-- so share_pct is their share of the model's latency. Parts that overlap share the time that they take together. If a
-- device ran, device_ns is the time of the device, and span_ns is the time of host and device together; both cover the
-- model's call, and the work that the layers launched themselves. If a call returns before the device is done, and the
-- device takes longer, the device's time is divided instead, and share_ns is a share of it.
-- @needs model
-- @doubts kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=level,parent,name,latency_ns,device_ns,share_pct,detail
-- @view table bar=share_pct top=40 group=level
-- @column batch count Inputs per inference.
-- @column level text Level of the row: model, layer type, layer, kernel, or idle (a cause of waiting).
-- @column parent text The row that this row is a part of; empty: the row of the model.
-- @column name text Subject of the row; the row of a layer leaves out its nested layers.
-- @column latency_ns ns Time in one inference, in the run at the row's level; empty: not measured.
-- @column device_ns ns Device time of its work, overlaps counted once; empty: not recorded, or it launches nothing.
-- @column span_ns ns Time from its first launch to its own end or the end of its work, the later.
-- @column share_pct pct Share of the row in the model.
-- @column share_ns ns share_pct of the model's latency, or of its device_ns if that is longer.
-- @column is_rest bool Whether the row is no part, but the rest of the parts.
-- @column detail text The number of things in the row, the source of its time, and anything that was not measured.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
model AS MATERIALIZED (
  SELECT batch, coalesce((SELECT value FROM evaluation WHERE key = 'model'), 'model') AS name, inferences AS n,
    recorded_level, latency_ns
  FROM model_latency WHERE batch = (SELECT batch FROM wanted)),
divided AS MATERIALIZED (FROM divided_time),
part AS MATERIALIZED (
  SELECT type, layer, sum(part_ns) AS latency_ns, sum(share) AS share FROM divided
  WHERE layer IS NOT NULL GROUP BY ALL),
whole AS MATERIALIZED (
  SELECT m.name, m.n, m.recorded_level, d.* EXCLUDE (type, layer, kernel, cause, part_ns, number, share),
    d.covered_ns < 0.999 * d.parts_ns AS is_overlapped
  FROM model m, (FROM divided LIMIT 1) d),
device AS MATERIALIZED (
  SELECT CASE of WHEN 'type' THEN 'layer type' ELSE 'layer' END AS level, name, device_ns, span_ns
  FROM layer_device_time WHERE of IN ('type', 'own')
  UNION ALL
  SELECT 'model', name, device_ns, span_ns FROM whole),
line AS (
  SELECT 1 AS line, 'model' AS level, NULL AS parent, name, latency_ns, 1 AS share, false AS is_rest,
    concat(n, ' inferences of the run that recorded the ', CASE recorded_level WHEN 2 THEN 'model alone'
           ELSE concat('levels model to ', level_name(recorded_level)) END, CASE WHEN is_early THEN
           concat('; it returns before the device is done: shares are of the device''s ', time_text(of_ns)) END)
      AS detail
  FROM whole
  UNION ALL
  SELECT 2, 'layer type', any_value(w.name), type, sum(p.latency_ns), sum(p.share), false,
    concat(count(*), CASE count(*) WHEN 1 THEN ' layer' ELSE ' layers' END,
           CASE WHEN any_value(is_overlapped) THEN '; some overlap: its share is of the time in which any runs' END)
  FROM part p, whole w GROUP BY type
  UNION ALL
  SELECT 2, 'layer type', name, CASE WHEN is_early THEN 'copies' WHEN is_device THEN 'no kernel runs'
      ELSE 'between layers' END, of_ns - covered_ns, rest, true,
    CASE WHEN is_early THEN 'the device copies or sets memory, and no kernel runs'
         WHEN is_device THEN 'the model''s latency less the time in which a kernel runs'
         ELSE 'the runtime itself' END
  FROM whole WHERE rest > 0
  UNION ALL
  SELECT 2.5, 'layer type', name, CASE WHEN is_device THEN 'kernels overlap' ELSE 'layers overlap' END,
    covered_ns - parts_ns, NULL, true, 'what they take at the same time, once'
  FROM whole WHERE covered_ns < parts_ns
  UNION ALL
  SELECT 2.6, 'layer type', name, CASE WHEN is_early THEN 'beyond the call' ELSE recording_item(of_ns, latency_ns) END,
    latency_ns - of_ns, NULL, true,
    CASE WHEN is_early THEN 'the device works that much longer than the host''s call takes'
      ELSE recording_text(of_ns, latency_ns) END
  FROM whole WHERE of_ns <> latency_ns
  UNION ALL
  SELECT 2, 'layer type', name, 'layers', NULL, NULL, false, concat('not measured: ', why_no_level('layer'))
  FROM whole WHERE parts_ns IS NULL
  UNION ALL
  SELECT 3, 'layer', type, layer, p.latency_ns, p.share, false,
    CASE WHEN is_device THEN 'in its kernels' ELSE 'its own time' END
  FROM part p, whole
  UNION ALL
  SELECT 4, 'kernel', layer, kernel, part_ns, share, false, printf('%.3g in an inference', number)
  FROM divided WHERE kernel IS NOT NULL
  UNION ALL
  SELECT 5, 'idle', 'no kernel runs', cause, share * (of_ns - covered_ns), share * rest, false,
    'its share of the idle time, as gpu_idle tells it'
  FROM (SELECT * REPLACE (part_ns / sum(part_ns) OVER () AS share) FROM divided WHERE cause IS NOT NULL) WHERE rest > 0)
SELECT (SELECT batch FROM wanted) AS batch, level, parent, line.name, line.latency_ns, d.device_ns, d.span_ns,
  100 * share AS share_pct,
  share * CASE WHEN is_early THEN of_ns ELSE whole.latency_ns END AS share_ns,
  is_rest, detail
FROM line LEFT JOIN device d USING (level, name) CROSS JOIN whole
ORDER BY line, share DESC NULLS LAST, parent, line.name
