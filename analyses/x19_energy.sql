-- @id x19
-- @name energy
-- @title Energy of an inference
-- @question How much energy does an inference take, and how certain is the figure?
-- The device's energy counter advances about every 100 ms, so many inferences are measured in one stretch. Only the
-- samples that lie wholly within the stretch are used. The energy of an inference is their energy divided by the
-- number of inferences in them; an inference that lies partly in them counts in part. The uncertainty (95 %, Student's
-- t) has two sources: the mean between samples, and at each of the two edges half the difference between the longest
-- and the shortest sample. The power that the device reports, times the time, is an independent check. The reported
-- power is a mean over about the last second. The check therefore uses the samples that begin at least a second after
-- the start of the stretch, if there are any.
-- @needs energy
-- @view bar x=batch y=input_j
-- @view table columns=batch,inferences,samples,energy_j,uncertainty_pct,uncertainty_note
-- @view table columns=input_j,mean_w,power_energy_j,agreement_pct
-- @column batch count Inputs per inference.
-- @column inferences number Number of inferences in the samples.
-- @column samples count Number of samples wholly within the stretch.
-- @column stretch_ns ns Total time of these samples.
-- @column latency_ns ns stretch_ns / inferences; it includes the pauses between inferences.
-- @column energy_j j Energy of an inference, in joules.
-- @column uncertainty_j j Half the width of energy_j's 95 % interval; empty: fewer than three samples.
-- @column uncertainty_pct pct uncertainty_j in percent of energy_j.
-- @column uncertainty_note text The method of the interval, or the reason why there is none.
-- @column input_j j Energy of an input, in joules: energy_j / batch. Empty: the batch size is not known.
-- @column mean_w w Mean power: energy / stretch, in watts.
-- @column power_w w Mean of the power that the device reported, in watts.
-- @column power_energy_j j Energy by the reported power, in joules: energy_j / (1 + agreement_pct / 100).
-- @column agreement_pct pct Percentage by which the energy of the samples that have both exceeds the reported power.
-- @column million_kwh number Energy of a million inputs, in kilowatt-hours.
WITH total AS (
  SELECT run_id, any_value(batch) AS batch, count(*) AS samples, sum(duration_ns) AS stretch_ns,
    sum(energy_j) AS energy_j, weighted_mean(power_w, duration_ns) AS power_w,
    1e9 * sum(energy_j) FILTER (power_w IS NOT NULL) / sum(duration_ns) FILTER (power_w IS NOT NULL) AS beside_w,
    CASE WHEN count(*) >= 3 THEN
      student_t(count(*) - 1) * stddev_samp(1e9 * energy_j / duration_ns) / sqrt(count(*)) END AS between_w,
    (max(duration_ns) - min(duration_ns)) / 2 AS edge_ns
  FROM energy_sample GROUP BY run_id),
mean AS (
  SELECT batch, inferences, samples, stretch_ns, stretch_ns / inferences AS latency_ns,
    energy_j / inferences AS energy_j,
    sqrt(pow(between_w * stretch_ns / 1e9, 2) + 2 * pow(1e-9 * edge_ns * 1e9 * energy_j / stretch_ns, 2)) / inferences
      AS uncertainty_j,
    1e9 * energy_j / stretch_ns AS mean_w, power_w, beside_w
  FROM total JOIN energy_inferences USING (run_id) WHERE inferences > 0)
SELECT batch, inferences, samples, stretch_ns, latency_ns, energy_j, uncertainty_j,
  pct(uncertainty_j, energy_j) AS uncertainty_pct, uncertainty_note(samples) AS uncertainty_note,
  energy_j / inputs_of(batch) AS input_j, mean_w, power_w,
  energy_j * power_w / beside_w AS power_energy_j,
  pct(beside_w - power_w, power_w) AS agreement_pct,
  1e6 * energy_j / inputs_of(batch) / 3.6e6 AS million_kwh
FROM mean
ORDER BY batch
