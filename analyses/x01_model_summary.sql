-- @id x1
-- @name model_summary
-- @title Model summary
-- @question What was measured, how long does it take, and where does the time go?
-- Each figure comes from the run at its own level: the model's latency from the run that recorded the model alone, and
-- the layers' latencies from the run that recorded the layers. `where` divides the time as time_by_level does: on a CPU
-- the inference in which the layers were recorded, and on a GPU the model's latency among the kernels, by the type of
-- the layer that launched them. `sum` explains the host's time: latency = layers together + between layers + less the
-- cost of recording. The last is the time that recording the layers added to an inference, taken off
-- (overhead_by_level has its interval). The summary of a training shows its steps first, with their phases, and the
-- model's calls are the forward passes. A program whose model's call returns before the device is done also shows its
-- steps first, because the step says how long the model takes, and how often it runs. The step is that of
-- time_of_step, in the run that recorded most. `doubt` gives the reasons why figures are less certain than requested.
-- @needs model
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table columns=section,item,value,share_pct,detail bar=share_pct top=100 group=section
-- @column section text The section that the row belongs to.
-- @column item text The subject of the row.
-- @column value by:unit The figure, in the unit of the column unit; empty: the row is text.
-- @column unit text Unit of value: ns, bytes, flops, flops_per_s, per_s, count.
-- @column share_pct pct Share of the inference (where, sum), of the step, or of a ceiling.
-- @column detail text The rest of the row, in words.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
fact AS (
  SELECT max(value) FILTER (key = 'model') AS model, max(value) FILTER (key = 'machine.cpu') AS cpu FROM evaluation),
model AS MATERIALIZED (SELECT * FROM model_latency WHERE batch = (SELECT batch FROM wanted)),
-- The summary of a training is about its steps, and its model's calls are the forward passes.
phase AS MATERIALIZED (FROM training_host_phases()),
device AS MATERIALIZED (FROM model_time WHERE batch = (SELECT batch FROM wanted)),
step AS MATERIALIZED (
  SELECT s.* FROM program_step s LEFT JOIN device d ON true
  WHERE EXISTS (FROM phase) OR d.step_ns IS NOT NULL),
layer AS MATERIALIZED (
  SELECT c.*, n.output_bytes, n.allocated_bytes, n.parameter_bytes
  FROM layer_roof c
    LEFT JOIN layer_counters((SELECT batch FROM wanted)) n USING (site_id)),
whole AS MATERIALIZED (
  SELECT count(*) AS layers, sum(per_inference) AS executions, sum(self_ns) AS self_ns, sum(flops) AS flops,
    sum(bytes) AS bytes, sum(coalesce(allocated_bytes, output_bytes)) AS memory_bytes,
    sum(parameter_bytes) AS parameter_bytes, count(allocated_bytes) AS with_allocated,
    count(output_bytes) FILTER (allocated_bytes IS NULL) AS with_outputs,
    count(*) FILTER (unknown IS NOT NULL) AS unknown
  FROM layer HAVING count(*) > 0),
-- The latency in the run that provides the layers: all layers together, plus the time between layers.
recorded AS (
  SELECT r.latency_ns AS with_ns, r.run_id <> (SELECT run_id FROM model) AS is_another, on_device
  FROM run_latency r JOIN layer_run l USING (run_id)
  WHERE r.run_id = chosen_layer_run((SELECT batch FROM wanted))),
divided AS MATERIALIZED (FROM divided_time),
-- The part of the inference in layers whose flops are not known.
unknown_part AS (
  SELECT coalesce(sum(share) FILTER (is_unknown), 0) AS unknown_share,
    2 * coalesce(sum(part_ns) FILTER (is_unknown), 0) <= sum(part_ns) AS is_mostly_known
  FROM divided JOIN (SELECT name, bool_or(unknown IS NOT NULL) AS is_unknown FROM layer GROUP BY name) l
    ON l.name = divided.layer),
-- Kernels may belong to layers that the run of the layers lacks: XLA puts such layers into a CUDA graph.
missing AS (
  SELECT CASE WHEN layers > 0 THEN concat(layers, CASE layers WHEN 1 THEN ' layer has' ELSE ' layers have' END,
        ' kernels, and no record of the layer itself')
      WHEN unplaced > 0.1 THEN concat('kernels in no layer take ', share_text(unplaced), ' of the inference')
    END AS missing_part
  FROM (
    SELECT count(DISTINCT nullif(layer, 'no layer')) AS layers, sum(share) AS unplaced FROM divided
    WHERE kernel IS NOT NULL AND NOT coalesce(list_contains((SELECT list(name) FROM layer), layer), false))),
by_type AS (
  SELECT row_number() OVER (ORDER BY sum(part_ns) DESC, type) AS rank, type, sum(part_ns) AS part_ns,
    sum(share) AS share, count(DISTINCT divided.layer) AS with_kernels, any_value(l.layers) AS layers,
    any_value(l.executions) AS executions,
    sum(share) * any_value(greatest(covered_ns, of_ns)) < 0.98 * sum(part_ns) AS overlap,
    any_value(is_device) AS is_device, CASE WHEN count(*) OVER () <= 6 THEN 6 ELSE 5 END AS shown_types
  FROM divided LEFT JOIN (
    SELECT coalesce(type, 'unknown') AS type, count(*) AS layers, sum(per_inference) AS executions FROM layer
    GROUP BY ALL) l USING (type)
  WHERE divided.layer IS NOT NULL GROUP BY type),
-- The one or two ceilings that apply to most flops.
ceiling AS (
  SELECT pipe, low_pipe, max(peak_flops) AS peak_flops, min(peak_low_flops) AS peak_low_flops,
    any_value(peak_source) AS source
  FROM layer WHERE flops > 0 GROUP BY pipe, low_pipe ORDER BY sum(flops) DESC, pipe LIMIT 1),
line AS (
  SELECT 10 AS line, 'what' AS section, 'model' AS item, NULL::DOUBLE AS value, NULL AS unit,
    NULL::DOUBLE AS share_pct, concat(model, ', batch ' || inputs_of((SELECT batch FROM wanted))) AS detail FROM fact
  UNION ALL
  SELECT 11, 'what', 'framework', NULL, NULL, NULL,
    concat_ws(', ', concat_ws(' ', framework, framework_version),
      (SELECT 'compiled by ' || max(value) FROM site_attribute WHERE key = 'setting.compiler'), run_device.device,
      threads || CASE threads WHEN 1 THEN ' thread' ELSE ' threads' END)
  FROM run JOIN run_device USING (run_id) WHERE run_id = (SELECT run_id FROM model)
  UNION ALL
  SELECT 12, 'what', 'machine', NULL, NULL, NULL, cpu FROM fact WHERE cpu IS NOT NULL
  UNION ALL
  SELECT 12.5, 'what', concat('input ', key[14:]), NULL, NULL, NULL, concat_ws(': ',
    (SELECT concat(shape.value, CASE WHEN first_batch <> (SELECT batch FROM wanted)
        THEN concat(' at batch ', first_batch) END)
     FROM evaluation shape, (SELECT first(batch ORDER BY run_id) AS first_batch FROM run)
     WHERE shape.key = concat('input.', values.key[14:])), values.value)
  FROM evaluation values WHERE starts_with(key, 'input_values.')
  UNION ALL
  SELECT 13, 'doubt', level_name(level), NULL, NULL, NULL, doubt FROM level_doubt
  WHERE level IN (2, 3, 6) AND batch = (SELECT batch FROM wanted)
  UNION ALL
  SELECT 14, 'step', CASE WHEN EXISTS (FROM phase) THEN 'training step' ELSE 'step' END, step_ns, 'ns', NULL, concat(
    steps, ' ', part, CASE steps WHEN 1 THEN ' step' ELSE ' steps' END,
    CASE WHEN processes > 1 THEN concat(' of ', processes, ' processes')
         WHEN half_ns IS NOT NULL THEN concat(', ±', share_text(half_ns / step_ns), ' at 95 %')
         ELSE ', too few for an interval' END,
    ' (recorded: ', level_name(level), ')')
  FROM step
  UNION ALL
  SELECT 15, 'step', 'steps per second', 1e9 / step_ns, 'per_s', NULL,
    CASE WHEN processes > 1 THEN 'of one process'
         WHEN NOT EXISTS (FROM phase) THEN (SELECT headline FROM device) END FROM step
  UNION ALL
  SELECT 16 + 0.1 * list_position(['data', 'forward', 'backward', 'optimizer', 'other'], phase), 'step', phase, time_ns,
    'ns', pct(time_ns, (SELECT time_ns FROM phase WHERE phase = 'step')), CASE phase
      WHEN 'other' THEN 'in no phase' WHEN 'forward' THEN 'the outermost calls of the model' END
  FROM phase WHERE phase <> 'step'
  UNION ALL
  SELECT 20, 'how long', CASE WHEN headline IS NOT NULL OR EXISTS (FROM step) THEN 'call of the model'
      ELSE 'latency' END, latency_ns, 'ns', NULL,
    concat(CASE WHEN device_ns IS NOT NULL AND headline IS NOT NULL THEN 'on the host: ' END, inferences,
      CASE inferences WHEN 1 THEN ' inference' ELSE ' inferences' END,
      CASE WHEN high_ns IS NOT NULL THEN concat(', ±', share_text((high_ns - latency_ns) / latency_ns), ' at 95 %')
           ELSE concat(', no interval: ', blocks, ' of the 6 blocks that it takes') END)
  FROM model LEFT JOIN device USING (batch)
  UNION ALL
  SELECT 20.5, 'how long', 'device time', device_ns, 'ns', NULL, 'of what the call launched' FROM device
  WHERE device_ns IS NOT NULL
  UNION ALL
  SELECT 20.6, 'how long', 'span', span_ns, 'ns', NULL, CASE WHEN headline IS NOT NULL AND step_ns IS NULL THEN headline
    ELSE 'from the first launch to the last end, while kernels are recorded' END FROM device
  WHERE span_ns IS NOT NULL
  UNION ALL
  -- Below a hundred inferences, it is little less than the slowest of them.
  SELECT 21, 'how long', '99th percentile', quantile_of(sorted, 0.99), 'ns', NULL,
    CASE WHEN len(sorted) < 100 THEN concat('of only ', len(sorted), CASE len(sorted) WHEN 1 THEN ' inference'
      ELSE ' inferences' END) END FROM model
  UNION ALL
  SELECT 22, 'how long', 'throughput',
    coalesce(inputs_of(batch), CASE WHEN have_one_shape() THEN 1 END)
      * inferences_per_s(latency_ns, step_ns, inferences_in_step), 'per_s', NULL, coalesce(
      (SELECT concat(CASE WHEN have_one_shape() THEN 'inferences; inputs of an inference are not known: '
         ELSE 'not measured: ' END, value) FROM evaluation
       WHERE key = 'not_measured.batch'), 'inputs') FROM model LEFT JOIN device USING (batch)
  WHERE NOT EXISTS (FROM phase) AND inferences_per_s(latency_ns, step_ns, inferences_in_step) IS NOT NULL
  UNION ALL
  SELECT 30, 'where', 'layers', executions, 'count', NULL,
    concat(CASE WHEN layers < 0.99 * executions THEN concat('executions of ', layers, ' layers') ELSE 'executed' END,
      CASE WHEN (SELECT count(*) FROM model_layer) > 0
        THEN concat(', for ', (SELECT count(*) FROM model_layer), ' in the model file') END,
      CASE WHEN layers > 1.01 * executions THEN concat(' of ', layers, ' told apart by their shapes') END,
      CASE WHEN seen.number < whole.layers THEN concat('; ', seen.number, ' have kernels') END)
  FROM whole LEFT JOIN (
    SELECT sum(with_kernels) AS number FROM by_type WHERE is_device AND layers IS NOT NULL) seen ON true
  UNION ALL
  SELECT 30, 'where', 'layers', NULL, NULL, NULL, concat('not measured: ', why_no_level('layer'))
  WHERE NOT EXISTS (FROM whole)
  UNION ALL
  SELECT 31, 'where', 'resolution', max(value), 'ns', NULL, 'grain of the layers'' times' FROM site_counter
  WHERE run_id = chosen_layer_run((SELECT batch FROM wanted)) AND name = 'layer_resolution_ns'
  HAVING max(value) > 0
  UNION ALL
  SELECT 40 + rank, 'where', type, part_ns, 'ns', 100 * share, concat(CASE
    WHEN layers IS NULL THEN 'kernels outside of all layers'
    WHEN layers < 0.99 * executions THEN printf('%.3g executions of %d %s', executions, layers,
      CASE layers WHEN 1 THEN 'layer' ELSE 'layers' END)
    ELSE concat(CASE WHEN is_device AND with_kernels < layers THEN concat(with_kernels, ' of ') END, layers,
      CASE layers WHEN 1 THEN ' layer' ELSE ' layers' END) END,
    CASE WHEN is_device AND layers IS NOT NULL THEN ', in kernels' END,
    CASE WHEN is_device AND overlap THEN ', which overlap' END)
  FROM by_type WHERE rank <= shown_types
  UNION ALL
  SELECT 46, 'where', concat(count(*), ' more types'), sum(part_ns), 'ns', 100 * sum(share),
    CASE WHEN count(layers) = 0 THEN 'kernels outside of all layers'
      ELSE concat(CASE WHEN any_value(is_device) AND sum(with_kernels) < sum(layers)
        THEN concat(sum(with_kernels), ' of ') END, sum(layers), ' layers',
        CASE WHEN any_value(is_device) THEN ', in kernels' END) END
  FROM by_type WHERE rank > shown_types HAVING count(*) > 0
  UNION ALL
  SELECT 47, 'where', 'convolution', sum(part_ns), 'ns', 100 * sum(share), 'of the above, fused ones included'
  FROM by_type WHERE is_convolution(type) HAVING count(*) > 0
  UNION ALL
  SELECT 48, 'where', 'kernels overlap', covered_ns - parts_ns, 'ns', NULL, 'what they take at the same time, once'
  FROM (FROM divided LIMIT 1) WHERE is_device AND covered_ns < parts_ns
  UNION ALL
  SELECT 49, 'where', CASE WHEN is_early THEN 'copies' ELSE 'no kernel runs' END, of_ns - covered_ns, 'ns', 100 * rest,
    CASE WHEN is_early THEN 'the device copies or sets memory' ELSE 'the GPU waits: see time_of_step' END
  FROM (FROM divided LIMIT 1) WHERE is_device AND rest > 0
  UNION ALL
  SELECT 49, 'where', recording_item(covered_ns, of_ns), of_ns - covered_ns, 'ns', NULL,
    'the kernels took longer in the run that recorded them'
  FROM (FROM divided LIMIT 1) WHERE is_device AND covered_ns > (1 + 1e-9) * of_ns
  UNION ALL
  -- These shares are those of the inference in which the layers were recorded.
  SELECT 50, 'sum', 'layers together', self_ns, 'ns', pct(self_ns, greatest(self_ns, with_ns)),
    CASE WHEN on_device THEN 'on the device; what several do at once counts for each'
         WHEN is_device THEN 'on the host, where they launch kernels'
         WHEN is_another THEN 'of the inference in which they were recorded' ELSE 'of the latency' END
  FROM whole, recorded, (SELECT is_device FROM divided LIMIT 1)
  UNION ALL
  SELECT 51, 'sum', 'between layers', with_ns - self_ns, 'ns',
    CASE WHEN with_ns >= self_ns THEN pct(with_ns - self_ns, with_ns) END,
    CASE WHEN with_ns < self_ns THEN 'they overlap'
         WHEN on_device THEN 'no layer works on the device, less what counts twice'
         WHEN is_device THEN 'on the host: the runtime, and waiting for the device'
         WHEN is_another THEN concat('the runtime itself: ',
           time_text((with_ns - self_ns) / with_ns * model.latency_ns), ' of the latency')
         ELSE 'the runtime itself' END
  FROM recorded, whole, model, (SELECT is_device FROM divided LIMIT 1)
  UNION ALL
  SELECT 52, 'sum', recording_item(with_ns, latency_ns), latency_ns - with_ns, 'ns', NULL,
    recording_text(with_ns, latency_ns)
  FROM recorded, model WHERE is_another
  UNION ALL
  -- A sum that lacks most of the time does not describe the whole.
  SELECT 60, 'work', 'flops', CASE WHEN is_mostly_known THEN flops END, 'flops', NULL, CASE unknown
    WHEN 0 THEN 'from the layers'' shapes'
    ELSE printf('unknown layers: %d, %.1f %% of the inference', unknown, 100 * unknown_share) END
  FROM whole, unknown_part WHERE flops IS NOT NULL
  UNION ALL
  SELECT 61, 'work', 'rate', 1e9 * flops / work_ns, 'flops_per_s', pct(1e9 * flops / work_ns, peak_flops),
    CASE WHEN peak_flops IS NULL THEN
           CASE WHEN work_ns = latency_ns THEN 'flops / latency' ELSE 'flops / time of the device' END
         WHEN pipe = low_pipe THEN concat('of the ceiling of ', pipe, ', ', source)
         WHEN peak_low_flops IS NULL THEN
           concat('of the ceiling of ', pipe, ', ', source, '; if on ', low_pipe, ', more')
         ELSE concat(range_text(pct(1e9 * flops / work_ns, peak_flops),
             greatest(pct(1e9 * flops / work_ns, peak_flops),
                      least(100, pct(1e9 * flops / work_ns, peak_low_flops)))),
           ' %: of the ceiling of ', pipe, ', ', source, ', or of ', low_pipe) END
  FROM whole CROSS JOIN (
      SELECT latency_ns, CASE WHEN headline IS NOT NULL THEN greatest(device_ns, latency_ns) ELSE latency_ns END
        AS work_ns
      FROM model LEFT JOIN device USING (batch))
    LEFT JOIN ceiling ON true CROSS JOIN unknown_part WHERE flops IS NOT NULL AND is_mostly_known
  UNION ALL
  SELECT 70, 'memory', 'weights', CASE WHEN missing_part IS NULL THEN parameter_bytes END, 'bytes', NULL,
    CASE WHEN missing_part IS NULL THEN 'of all layers; one that several read counts for each'
      ELSE concat('not known: ', missing_part) END
  FROM whole, missing
  WHERE parameter_bytes > 0
  UNION ALL
  SELECT 71, 'memory', 'layers', memory_bytes, 'bytes', NULL,
    concat(CASE WHEN with_outputs = 0 THEN 'allocated for them' WHEN with_allocated = 0 THEN 'their outputs'
      ELSE 'allocated for them, or their outputs' END, ', summed: see memory_by_layer_type')
  FROM whole WHERE memory_bytes > 0
  UNION ALL
  SELECT 80, 'lost', 'records', sum(count), 'count', NULL, 'see xsp analyze audit' FROM loss HAVING sum(count) > 0)
SELECT section, item, value, unit, share_pct, detail
FROM line
ORDER BY line, item, detail
