-- @title Latency that varies
-- @rule A few inferences take much longer than the median.
SELECT CASE WHEN n < 100 THEN printf('The slowest of %d inferences took %.2f times the median.', n,
      sorted[len(sorted)] / quantile_of(sorted, 0.5))
    ELSE printf('One inference in a hundred takes %.2f times the median or longer.',
      quantile_of(sorted, 0.99) / quantile_of(sorted, 0.5)) END AS finding, 'model' AS level,
  greatest(0, list_avg(sorted) - latency_ns) AS gain_ns,
  'Look for other load on the machine, changing clocks, memory that is allocated anew.' AS advice,
  'model_information' AS evidence,
  'Compare the 99th percentile with the median in model_information, before and after.' AS check,
  NULL AS culprit, NULL AS layer
FROM finding_model, finding_usable
WHERE model_holds AND NOT is_watched() AND n >= 20 AND quantile_of(sorted, 0.99) > 1.2 * quantile_of(sorted, 0.5)
