-- @id x23
-- @name device_state
-- @title Clocks and throttling
-- @question Did the GPU keep its clocks during the measurement?
-- Each run has one row for each source. The source `blocks` is the state that the device reported at the end of every
-- block of inferences. The source `samples` covers the whole run, if the run sampled the device (--counters energy).
-- If a clock falls while the runs are interleaved, all runs become slower alike. If there are reasons for throttling
-- other than an idle device, the figures are those of a device whose clocks were held down.
-- @needs clocks
-- @view table columns=run_id,levels,batch,source,readings,sm_clock_mhz,sm_clock_min_mhz,temperature_max_c,power_max_w
-- @view table columns=throttled_pct,throttle_reasons top=100
-- @column run_id count Number of the run.
-- @column levels text The levels that the run recorded.
-- @column batch count Inputs per inference.
-- @column source text Source of the readings: blocks or samples.
-- @column readings count Number of readings.
-- @column sm_clock_mhz number Mean clock of the multiprocessors, in MHz.
-- @column sm_clock_min_mhz number Lowest clock of the multiprocessors, in MHz.
-- @column sm_clock_max_mhz number Highest clock of the multiprocessors, in MHz.
-- @column memory_clock_mhz number Mean clock of the memory, in MHz.
-- @column temperature_max_c number Highest temperature, in degrees Celsius.
-- @column power_w w Mean power, in watts.
-- @column power_max_w w Highest power, in watts.
-- @column throttled_pct pct Share of the readings in which the clock was held down; empty: not known.
-- @column throttle_reasons text The reasons that held the clock down, with their shares of the readings.
WITH reading AS (
  SELECT run_id, 'blocks' AS source, gpu_sm_clock_mhz AS sm_clock_mhz, gpu_memory_clock_mhz AS memory_clock_mhz,
    gpu_temperature_c AS temperature_c, gpu_power_w AS power_w, gpu_throttle_reasons AS reasons
  FROM block WHERE coalesce(gpu_sm_clock_mhz, gpu_temperature_c, gpu_power_w) IS NOT NULL
  UNION ALL
  SELECT run_id, 'samples', sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle_reasons
  FROM device_sample),
reason AS (
  SELECT run_id, source, trim(reason) AS reason, count(*) AS readings
  FROM (SELECT run_id, source, unnest(string_split(reasons, ',')) AS reason FROM reading WHERE reasons <> '')
  GROUP BY ALL),
total AS (
  SELECT run_id, source, count(*) AS readings, avg(sm_clock_mhz) AS sm_clock_mhz, min(sm_clock_mhz) AS sm_clock_min_mhz,
    max(sm_clock_mhz) AS sm_clock_max_mhz, avg(memory_clock_mhz) AS memory_clock_mhz,
    max(temperature_c) AS temperature_max_c, avg(power_w) AS power_w, max(power_w) AS power_max_w,
    pct(count(*) FILTER (reasons <> ''), count(reasons)) AS throttled_pct
  FROM reading GROUP BY run_id, source),
said AS (
  SELECT run_id, source, string_agg(printf('%s %.0f %%', reason, pct(r.readings, t.readings)), ', '
                                    ORDER BY r.readings DESC, reason) AS throttle_reasons
  FROM reason r JOIN total t USING (run_id, source) GROUP BY run_id, source)
SELECT run_id, levels, coalesce(batch, 1) AS batch, source, readings, sm_clock_mhz, sm_clock_min_mhz, sm_clock_max_mhz,
  memory_clock_mhz, temperature_max_c, power_w, power_max_w, throttled_pct,
  coalesce(throttle_reasons, '') AS throttle_reasons
FROM total JOIN run USING (run_id) LEFT JOIN said USING (run_id, source)
ORDER BY batch, run_id, source
