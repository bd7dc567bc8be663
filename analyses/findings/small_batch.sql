-- @title Another batch size
-- @rule An input takes less time at another batch size.
WITH best_batch AS (
  SELECT e.batch, e.latency_ns / e.batch AS input_ns, m.latency_ns / m.batch AS now_ns, m.latency_ns,
    m.batch AS now_batch, e.inferences, e.high_ns IS NULL AS is_rough
  FROM model_latency e, finding_model m ORDER BY e.latency_ns / e.batch LIMIT 1)
SELECT concat(printf('At batch %d an input takes %s instead of %s: %.2f times the throughput.', batch,
      time_text(input_ns), time_text(now_ns), now_ns / input_ns),
    CASE WHEN is_rough THEN concat(' It is the mean of ', inferences, CASE inferences WHEN 1 THEN ' inference'
      ELSE ' inferences' END, ', too few for an interval.') END) AS finding, 'model' AS level,
  in_step(latency_ns * (1 - input_ns / now_ns)) AS gain_ns,
  'Infer more inputs at once, where the latency of the batch is acceptable; the bound is on the time of an input.'
    AS advice, 'model_information' AS evidence,
  'Compare the inputs per second of the batch sizes in model_information.' AS check,
  concat('batch ', now_batch) AS culprit, NULL AS layer
FROM best_batch, finding_usable WHERE model_holds
UNION ALL
-- In a product with so few rows, the first operand is tiny compared with the weights that are read for it. A library
-- that reads them (4 bytes each) at less than 4 bytes a nanosecond computes slowly, and more rows take longer.
SELECT printf('Products of matrices have %s, for which all weights are read: %s',
    CASE WHEN least_rows = most_rows THEN concat(least_rows, CASE WHEN least_rows = 1 THEN ' row' ELSE ' rows' END)
         ELSE concat(least_rows, ' to ', most_rows, ' rows') END, step_share(ns))
    || coalesce(', mostly ' || blame_text(culprit, layer, place), '') || '.' AS finding,
  'kernel' AS level, ns * (1 - most_rows / 64.0) AS gain_ns,
  concat('Put inputs together in one batch: up to about 64 rows a product takes hardly longer, ',
    'so the bound is on the time of an input.') AS advice,
  'time_of_step' AS evidence,
  'With a larger batch the time of a step divided by the batch must fall.' AS check,
  culprit, layer
FROM (
  SELECT sum(ns) AS ns, min(r.rows) AS least_rows, max(r.rows) AS most_rows, max_by(culprit, ns) AS culprit,
    max_by(t.layer, ns) AS layer, max_by(place, ns) AS place
  FROM finding_time t JOIN finding_rows r USING (layer)
  WHERE t.cause IN ('compute', 'other kernels') AND r.rows <= 16 AND is_watched()
    AND coalesce(weights * calls >= t.ns, true))
WHERE ns > 0
UNION ALL
-- Operators that take less time than calling a few of them hardly take longer for more inputs. Of the program's own
-- code on the host, that around operators counts, which has a layer; what prepares an input takes as long for each.
SELECT printf('The step calls %.0f operators on %d input%s, which take %s on average: calling them counts more than '
    || 'their work.', calls, batch, CASE batch WHEN 1 THEN '' ELSE 's' END, time_text(ns / calls)),
  'layer', ns * (1 - batch / 32.0),
  'Put inputs together in one batch, which takes hardly longer; the bound is on the time of an input.',
  'time_of_step', 'With a larger batch the time of a step divided by the batch must fall.',
  concat('batch ', batch), NULL
FROM finding_batch, (
  SELECT sum(ns) FILTER (CASE cause WHEN 'compute' THEN ns < 50_000 * calls WHEN 'host code' THEN layer IS NOT NULL
                           ELSE true END) AS ns, sum(ns) AS all_ns,
    sum(calls) FILTER (cause = 'compute' AND ns < 50_000 * calls) AS calls
  FROM finding_time WHERE cause IN ('compute', 'framework', 'host code') AND is_watched() AND NOT is_on_device())
WHERE batch < 8 AND calls >= 20 AND 2 * ns > all_ns
UNION ALL
-- Without layers, nothing tells what the model does with each input.
SELECT concat('A step calls the model ',
    CASE WHEN inferences < 1.5 THEN 'once' ELSE printf('%.0f times', inferences) END,
    printf(', with %d input%s a call, which takes ', m.batch, CASE m.batch WHEN 1 THEN '' ELSE 's' END),
    step_share(inferences * latency_ns),
    '. Without its layers, it is not known how much longer a call with more inputs takes.'),
  'model', NULL,
  'Put inputs together in one batch, if several are there. If the model reads all its weights in each call, it hardly '
    || 'takes longer.',
  'model_information', 'Profile the model with --batch 1,8,64, and compare the inputs per second of the batch sizes.',
  concat('batch ', m.batch), NULL
FROM finding_model m JOIN run r USING (run_id), finding_step
WHERE is_watched() AND r.batch < 8 AND 2 * inferences * latency_ns > step_ns
  AND NOT EXISTS (FROM layer_site WHERE run_id = finding_run_id())
