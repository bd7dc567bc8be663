-- @id x1
-- @name model_summary
-- @title Model summary
-- @question What was measured, how long does it take, where does the time go?
-- Each figure comes from the run at its own level: the model's latency from the run that recorded the model
-- alone, the layers' from the run that recorded the layers. The difference between the model's latency and the
-- sum of its layers is explained: latency = layers together + between layers - slower when recorded, which is how
-- much longer the inference took in the run that recorded the layers (overhead_by_level has it with its interval).
-- @needs model
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table columns=section,item,value,share_pct,detail bar=share_pct top=100 group=section
-- @column section text What the row belongs to.
-- @column item text What the row says.
-- @column value by:unit The figure, in the unit of the column unit; empty: the row is text.
-- @column unit text Unit of value: ns, bytes, flops, flops_per_s, per_s, count.
-- @column share_pct pct Share of the model's layers, or of a ceiling.
-- @column detail text The rest of the row, in words.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
fact AS (
  SELECT max(value) FILTER (key = 'model') AS model, max(value) FILTER (key = 'machine.cpu') AS cpu FROM evaluation),
model AS MATERIALIZED (
  SELECT *, len(sorted) AS n, trimmed_mean(sorted) AS latency_ns FROM model_latency
  WHERE batch = (SELECT batch FROM wanted)),
layer AS MATERIALIZED (
  SELECT c.*, n.output_bytes, n.allocated_bytes, n.parameter_bytes
  FROM layer_costs((SELECT batch FROM wanted)) c
    LEFT JOIN layer_counters((SELECT batch FROM wanted)) n USING (site_id)),
whole AS (
  SELECT count(*) AS layers, sum(self_ns) AS self_ns, sum(flops) AS flops, sum(bytes) AS bytes,
    sum(output_bytes) AS output_bytes, sum(parameter_bytes) AS parameter_bytes,
    sum(self_ns) FILTER (is_convolution(type)) AS convolution_ns, count(*) FILTER (unknown IS NOT NULL) AS unknown,
    coalesce(sum(self_ns) FILTER (unknown IS NOT NULL), 0) AS unknown_ns,
    2 * coalesce(sum(self_ns) FILTER (unknown IS NOT NULL), 0) <= sum(self_ns) AS is_mostly_known
  FROM layer HAVING count(*) > 0),
-- Inference by inference, in the layer run: the model's span, and the outermost layers in it.
inference AS (
  SELECT iteration, sum(duration_ns) FILTER (level = 2) AS model_ns, sum(duration_ns) FILTER (level = 3) AS layers_ns
  FROM span
  WHERE run_id = chosen_run(3, (SELECT batch FROM wanted)) AND level IN (2, 3) AND depth = 0 AND iteration >= 0
    AND iteration < chosen_end(3, (SELECT batch FROM wanted))
  GROUP BY iteration),
explained AS (
  SELECT trimmed_mean(list_sort(list(layers_ns))) AS layers_ns, trimmed_mean(list_sort(list(model_ns))) AS with_ns
  FROM inference WHERE layers_ns IS NOT NULL HAVING count(*) > 0),
-- A layer whose tensors change from one inference to the next is as many layers as it has shapes, each executed now
-- and then.
executed AS (
  SELECT CAST(median(layers) AS BIGINT) AS layers FROM (
    SELECT count(*) AS layers FROM span
    WHERE run_id = chosen_run(3, (SELECT batch FROM wanted)) AND level = 3 AND iteration >= 0
      AND iteration < chosen_end(3, (SELECT batch FROM wanted))
    GROUP BY iteration)),
by_type AS (
  SELECT row_number() OVER (ORDER BY sum(self_ns) DESC) AS rank, coalesce(type, 'unknown') AS type,
    count(*) AS layers, sum(self_ns) AS self_ns,
    CASE WHEN count(*) OVER () <= 6 THEN 6 ELSE 5 END AS shown_types
  FROM layer GROUP BY coalesce(type, 'unknown')),
-- On a GPU that of the tensor cores, if most flops are of 16-bit types.
pipe AS (
  SELECT CASE max_by(input_types[1], flops) WHEN 'float16' THEN 'fp16_tensor' WHEN 'bfloat16' THEN 'bf16_tensor'
    WHEN 'float64' THEN 'fp64' ELSE 'fp32' END AS pipe FROM layer),
ceiling AS (
  SELECT CASE WHEN device LIKE 'cuda%' THEN c.value ELSE peak_of(device, 'fp32', 'flops_per_s', threads) END
    AS peak_flops
  FROM measured_run r CROSS JOIN pipe
    LEFT JOIN ceilings((SELECT list(run_id) FROM model), 'measured') c
      ON c.run_id = r.run_id AND c.name = peak_name_of(pipe)
  WHERE r.run_id = (SELECT run_id FROM model)),
line AS (
  SELECT 10 AS line, 'what' AS section, 'model' AS item, NULL::DOUBLE AS value, NULL AS unit,
    NULL::DOUBLE AS share_pct, concat(model, ', batch ', (SELECT batch FROM wanted)) AS detail FROM fact
  UNION ALL
  SELECT 11, 'what', 'framework', NULL, NULL, NULL,
    concat_ws(', ', concat_ws(' ', framework, framework_version), device, threads || ' threads')
  FROM measured_run WHERE run_id = (SELECT run_id FROM model)
  UNION ALL
  SELECT 12, 'what', 'machine', NULL, NULL, NULL, cpu FROM fact WHERE cpu IS NOT NULL
  UNION ALL
  SELECT 20, 'how long', 'latency', latency_ns, 'ns', NULL,
    concat(n, ' inferences', CASE WHEN interval_low(sorted) IS NOT NULL THEN
      printf(', within %.2f %%', pct(interval_high(sorted) - interval_low(sorted),
                                     2 * quantile_of(sorted, 0.5))) END)
  FROM model
  UNION ALL
  SELECT 21, 'how long', '99th percentile', quantile_of(sorted, 0.99), 'ns', NULL, NULL FROM model
  UNION ALL
  SELECT 22, 'how long', 'throughput', inputs_of(batch) * 1e9 / latency_ns, 'per_s', NULL, coalesce(
    (SELECT concat('not measured: ', value) FROM evaluation WHERE key = 'not_measured.batch'), 'inputs') FROM model
  UNION ALL
  SELECT 30, 'where', 'layers', e.layers, 'count', NULL,
    concat('executed', CASE WHEN (SELECT count(*) FROM model_layer) > 0
      THEN concat(', for ', (SELECT count(*) FROM model_layer), ' in the model file') END,
      CASE WHEN w.layers > e.layers THEN concat(' of ', w.layers, ' told apart by their shapes') END)
  FROM whole w, executed e
  UNION ALL
  SELECT 30, 'where', 'layers', NULL, NULL, NULL, concat('not measured: ', why_no_level('layer'))
  WHERE NOT EXISTS (FROM whole)
  UNION ALL
  SELECT 31, 'where', 'resolution', max(value), 'ns', NULL, 'grain of the layers'' times' FROM site_counter
  WHERE run_id = chosen_run(3, (SELECT batch FROM wanted)) AND name = 'layer_resolution_ns'
  HAVING max(value) > 0
  UNION ALL
  SELECT 40 + rank, 'where', type, self_ns, 'ns', pct(self_ns, (SELECT self_ns FROM whole)),
    concat(layers, CASE layers WHEN 1 THEN ' layer' ELSE ' layers' END)
  FROM by_type WHERE rank <= shown_types
  UNION ALL
  SELECT 46, 'where', concat(count(*), ' more types'), sum(self_ns), 'ns',
    pct(sum(self_ns), (SELECT self_ns FROM whole)), concat(sum(layers), ' layers')
  FROM by_type WHERE rank > shown_types HAVING count(*) > 0
  UNION ALL
  SELECT 47, 'where', 'convolution', convolution_ns, 'ns', pct(convolution_ns, self_ns),
    'fused ones included'
  FROM whole WHERE convolution_ns > 0
  UNION ALL
  SELECT 50, 'sum', 'layers together', layers_ns, 'ns', pct(layers_ns, (SELECT latency_ns FROM model)),
    'of the latency' FROM explained
  UNION ALL
  SELECT 51, 'sum', 'between layers', with_ns - layers_ns, 'ns',
    pct(with_ns - layers_ns, (SELECT latency_ns FROM model)),
    CASE WHEN with_ns < layers_ns THEN 'they overlap'
         WHEN (SELECT any_value(device) FROM measured_run WHERE level = 3) LIKE 'cuda%'
           THEN 'the runtime and the device'
         ELSE 'the runtime itself' END
  FROM explained
  UNION ALL
  SELECT 52, 'sum', 'slower when recorded', with_ns - latency_ns, 'ns', pct(with_ns - latency_ns, latency_ns),
    'not in the latency' FROM explained, model
  UNION ALL
  -- A sum that lacks most of the time says nothing of the whole.
  SELECT 60, 'work', 'flops', CASE WHEN is_mostly_known THEN flops END, 'flops', NULL, CASE unknown
    WHEN 0 THEN 'from the layers'' shapes'
    ELSE printf('unknown layers: %d, %.1f %% of time', unknown, pct(unknown_ns, self_ns)) END
  FROM whole WHERE flops IS NOT NULL
  UNION ALL
  SELECT 61, 'work', 'rate', 1e9 * flops / latency_ns, 'flops_per_s', pct(1e9 * flops / latency_ns, peak_flops),
    CASE WHEN peak_flops IS NULL THEN 'flops / latency' ELSE 'of the measured peak' END
  FROM whole, model, ceiling WHERE flops IS NOT NULL AND is_mostly_known
  UNION ALL
  SELECT 70, 'memory', 'weights', parameter_bytes, 'bytes', NULL, 'read by the layers' FROM whole
  WHERE parameter_bytes > 0
  UNION ALL
  SELECT 71, 'memory', 'layer outputs', output_bytes, 'bytes', NULL, 'summed' FROM whole
  WHERE output_bytes > 0
  UNION ALL
  SELECT 80, 'lost', 'records', sum(count), 'count', NULL, 'see xsp analyze audit' FROM loss HAVING sum(count) > 0)
SELECT section, item, value, unit, share_pct, detail
FROM line
ORDER BY line
