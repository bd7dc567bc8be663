-- @title Clocks held down
-- @rule The device's clock was held below the highest clock that it may have.
WITH clock AS (
  SELECT avg(gpu_sm_clock_mhz) AS mhz,
      -- Some GPUs exceed the application clock as long as nobody has set it.
      coalesce(CASE WHEN max(gpu_sm_clock_mhz) <= any_value(set_mhz) THEN any_value(set_mhz) END, any_value(most_mhz),
      -- The highest clock that it reached while nothing reduced it.
      (SELECT max(gpu_sm_clock_mhz) FROM block WHERE gpu_throttle_reasons = '')) AS max_mhz,
    pct(count(*) FILTER (gpu_throttle_reasons <> ''), count(*)) AS held_pct,
    string_agg(DISTINCT gpu_throttle_reasons, ', ') FILTER (gpu_throttle_reasons <> '') AS reasons
  FROM block CROSS JOIN (
    SELECT max(try_cast(e.value AS DOUBLE)) FILTER (e.key LIKE '%.application_sm_clock_mhz') AS set_mhz,
      max(try_cast(e.value AS DOUBLE)) FILTER (e.key LIKE '%.max_sm_clock_mhz') AS most_mhz
    FROM evaluation e, run r
    WHERE r.run_id = (SELECT run_id FROM finding_model)
      AND starts_with(e.key, concat('gpu.', device_number(r.device), '.')))
  WHERE run_id = (SELECT run_id FROM finding_model) AND gpu_throttle_reasons IS NOT NULL)
SELECT concat(printf('The GPU''s clock was held down in %.0f %% of the measurement (%s): %.0f MHz', held_pct,
    reasons, mhz), coalesce(printf(' of %.0f.', max_mhz), '; the clock that it may have is not known.')) AS finding,
  '' AS level, in_step(latency_ns * (1 - mhz / max_mhz)) AS gain_ns,
  'Cool it, raise its power limit, or lock its clocks for measuring.' AS advice, 'device_state' AS evidence,
  'See in device_state which clocks it had, and what held them down.' AS check, reasons AS culprit, NULL AS layer
FROM clock, finding_model WHERE held_pct > 0
