-- @id x29
-- @name energy_by_layer
-- @title Energy by layer
-- @question Which layers use the energy of an inference, and how certain are the figures?
-- The work that each layer put on the device was repeated alone for a second or more, as a CUDA graph, and therefore
-- without its launches. The energy of one execution is the energy of the samples that lie wholly within that time,
-- divided by the number of replays in them. A layer that runs alone finds its inputs in the caches, and the device at
-- another power and clock. Numbers that its own results replace may grow, and power depends on data. Therefore the
-- layers' sum stands beside an inference that was repeated in the same way (repeated_j), and beside an inference in
-- normal operation, with its pauses (inference_j). Layers of one type with equal shapes and kernels are repeated once
-- for all of them. The uncertainty (95 %) is computed as in the analysis energy.
-- @needs layer, layer_energy
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=energy_j
-- @view table caption=batch,layers_j,repeated_j,inference_j
-- @view table columns=index,layer,energy_j,uncertainty_pct,uncertainty_note,share_pct
-- @view table by=energy_j top=20 bar=share_pct
-- @column batch count Inputs per inference.
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column energy_j j Energy of the layer in one inference, in joules.
-- @column uncertainty_pct pct Half the width of the 95 % interval, in percent of energy_j; empty: below three samples.
-- @column uncertainty_note text The method of the interval, or the reason why there is none.
-- @column share_pct pct Share of energy_j in layers_j.
-- @column mean_w w Mean power while the layer was repeated, in watts.
-- @column alone_ns ns Time of one execution while the layer was repeated.
-- @column replays number Number of repetitions.
-- @column samples count Number of samples of the energy counter wholly within that time.
-- @column layers_j j Energy of all layers that were repeated, together, in joules.
-- @column repeated_j j Energy of an inference that was repeated in the same way, in joules.
-- @column inference_j j Energy of an inference in normal operation, in joules (see energy); empty: not measured.
WITH chosen AS (
  SELECT run_id, batch, device FROM energy_run WHERE run_id IN (SELECT run_id FROM repetition WHERE NOT is_all)
    AND ($batch IS NULL OR batch = CAST($batch AS INTEGER)) ORDER BY batch LIMIT 1),
sample AS (
  SELECT r.span_id, d.duration_ns, d.energy_j
  FROM chosen JOIN repetition r USING (run_id) JOIN device_sample d USING (run_id)
  WHERE d.start_ns >= r.start_ns AND d.start_ns + d.duration_ns <= r.start_ns + r.duration_ns
    AND d.energy_j IS NOT NULL AND d.device = coalesce(r.device, d.device)),
power AS (
  SELECT span_id, count(*) AS samples, 1e9 * sum(energy_j) / sum(duration_ns) AS mean_w,
    CASE WHEN count(*) >= 3 THEN sqrt(
      pow(student_t(count(*) - 1) * stddev_samp(1e9 * energy_j / duration_ns) / sqrt(count(*)), 2)
      + 2 * pow((max(duration_ns) - min(duration_ns)) / 2 / sum(duration_ns)
                * 1e9 * sum(energy_j) / sum(duration_ns), 2)) END AS uncertainty_w
  FROM sample GROUP BY span_id),
repeated AS (
  SELECT r.name, r.is_all, r.replays, r.duration_ns / nullif(r.replays, 0) AS alone_ns, p.samples, p.mean_w,
    pct(p.uncertainty_w, p.mean_w) AS uncertainty_pct,
    p.mean_w * r.duration_ns / nullif(r.replays, 0) / 1e9 AS energy_j
  FROM chosen JOIN repetition r USING (run_id) LEFT JOIN power p USING (span_id)),
layer AS (
  SELECT l.batch, l.ordinal, l.name, l.type, l.per_inference * r.energy_j AS energy_j,
    r.* EXCLUDE (name, is_all, energy_j)
  FROM layers((SELECT batch FROM chosen)) l JOIN repeated r ON r.name = l.name AND NOT r.is_all),
-- Computed as in the analysis energy.
whole AS (
  SELECT sum(energy_j) / any_value(inferences) AS inference_j
  FROM chosen JOIN energy_sample USING (run_id) JOIN energy_inferences USING (run_id))
SELECT batch, ordinal AS index, name AS layer, type, energy_j, uncertainty_pct,
  uncertainty_note(samples) AS uncertainty_note, pct(energy_j, sum(energy_j) OVER ()) AS share_pct, mean_w,
  alone_ns, replays, samples,
  sum(energy_j) OVER () AS layers_j, (SELECT energy_j FROM repeated WHERE is_all) AS repeated_j,
  (SELECT inference_j FROM whole) AS inference_j
FROM layer
ORDER BY ordinal
