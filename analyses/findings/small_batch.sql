-- @title Another batch size
-- @rule At another batch size an input takes less time.
WITH best_batch AS (
  SELECT e.batch, e.latency_ns / e.batch AS input_ns, m.latency_ns / m.batch AS now_ns, m.latency_ns,
    m.batch AS now_batch
  FROM model_latency e, finding_model m ORDER BY e.latency_ns / e.batch LIMIT 1)
SELECT printf('At batch %d an input takes %s instead of %s: %.2f times the throughput.', batch,
    time_text(input_ns), time_text(now_ns), now_ns / input_ns) AS finding, 'model' AS level,
  in_step(latency_ns * (1 - input_ns / now_ns)) AS gain_ns,
  'Infer more inputs at once, where the latency of the batch is acceptable; the bound is on the time of an input.'
    AS advice, 'model_information' AS evidence,
  'Compare the inputs per second of the batch sizes in model_information.' AS check,
  concat('batch ', now_batch) AS culprit, NULL AS layer
FROM best_batch, finding_usable WHERE model_holds
