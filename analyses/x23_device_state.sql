-- @id x23
-- @name device_state
-- @title Clocks and throttling
-- @question Did the GPU keep its clocks while it was measured?
-- Of each run: what the device said at the end of every block of inferences, and in the runs that sampled it
-- (--counters energy) all the time. A clock that falls while the runs are interleaved slows all of them alike;
-- reasons other than an idle device mean that the numbers are those of a device held down.
-- @needs clocks
-- @view table columns=run_id,levels,batch,source,readings,sm_clock_mhz,sm_clock_min_mhz,temperature_max_c,power_max_w
-- @view table columns=throttled_pct,throttle_reasons top=100
-- @column run_id count The run.
-- @column levels text What was recorded.
-- @column batch count Inputs per inference.
-- @column source text blocks, or samples.
-- @column readings count How many there are.
-- @column sm_clock_mhz number Mean clock of the multiprocessors, in MHz.
-- @column sm_clock_min_mhz number The lowest.
-- @column sm_clock_max_mhz number The highest.
-- @column memory_clock_mhz number Mean clock of the memory, in MHz.
-- @column temperature_max_c number The highest temperature, in degrees Celsius.
-- @column power_w number Mean power, in watts.
-- @column power_max_w number The highest.
-- @column throttled_pct pct Share of the readings in which something held the clock down; empty: not known.
-- @column throttle_reasons text What did, with its share of the readings.
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
