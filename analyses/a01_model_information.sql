-- @id a1
-- @name model_information
-- @title Model information
-- @question How fast is the model at each batch size, and which size is best?
-- Latencies come from the runs that recorded the level model alone. The latency is the mean over the typical
-- inferences (a fifth of them, the fastest and the slowest, is left out at each end), with its 95 % interval over the
-- blocks that were measured in turns; `doubt` says what puts it in doubt. It is the time of the call on the host; where
-- a device ran, device_ns and span_ns have the device's and that of both, from the kernel run. Where the call returns
-- before the device is done, the latency alone does not say how long the model takes: it takes step_ns, the period of
-- the program's step (time_of_step), and throughput_per_s goes by that. Two rules name an optimal
-- batch size: `knee` is the first whose doubling gains no more than knee_gain_pct of throughput; `peak` the
-- smallest within 1 % of the highest throughput. Given max_latency_ms, `bounded` is the one of the highest
-- throughput whose latency is within it. A rule that the measured sizes do not decide names none.
-- @needs model
-- @param max_latency_ms double - The latency that the rule `bounded` allows; by default the rule is not used.
-- @param knee_gain_pct double 5 The gain of throughput at or below which doubling the batch is not worth it.
-- @view bar x=batch y=throughput_per_s
-- @view table columns=batch,iterations,latency_ns,low_ns,high_ns,p99_ns,throughput_per_s,doubling_gain_pct,role
-- @view table columns=device_ns,span_ns,step_ns
-- @view table columns=doubt
-- @view table bar=throughput_per_s
-- @column batch count Inputs per inference.
-- @column iterations count Inferences measured.
-- @column latency_ns ns Mean latency of the typical inferences.
-- @column median_ns ns Median of the latency.
-- @column low_ns ns Lower end of the 95 % interval of latency_ns; empty below 6 blocks.
-- @column high_ns ns Upper end of the 95 % interval of latency_ns.
-- @column p90_ns ns 90th percentile of the latency.
-- @column p99_ns ns 99th percentile of the latency.
-- @column device_ns ns Time of the device in what the call launched, each moment once; empty: no device was recorded.
-- @column span_ns ns From the call's first launch to the last end of its work, or its own end.
-- @column host_ns ns Time of the call on the host in the kernel run, which device_ns and span_ns are from.
-- @column step_ns ns The period of the program's step, where the call returns early; empty: latency_ns is the whole.
-- @column step_low_ns ns Lower end of the 95 % interval of step_ns; empty below six steps.
-- @column step_high_ns ns Upper end of the 95 % interval of step_ns.
-- @column headline text How often the program makes a step, as a sentence; empty: latency_ns is the whole.
-- @column throughput_per_s per_s Inputs per second: batch / latency, or batch / step_ns; inferences, where unknown.
-- @column throughput_of text What is counted: inputs or inferences.
-- @column doubling_gain_pct pct What the doubled batch size gains in throughput; empty: not measured.
-- @column role text online (batch 1), knee, peak, bounded, fastest (the highest throughput).
-- @column doubt text Why the latency is less certain than was wanted; empty: it is not.
WITH stat AS (
  SELECT batch, model_latency.inferences AS iterations, latency_ns, quantile_of(sorted, 0.5) AS median_ns, low_ns,
    high_ns,
    quantile_of(sorted, 0.9) AS p90_ns, quantile_of(sorted, 0.99) AS p99_ns,
    device_ns, span_ns, host_ns, step_ns, step_ns - half_ns AS step_low_ns, step_ns + half_ns AS step_high_ns, headline,
    coalesce(inputs_of(batch), 1) * inferences_per_s(latency_ns, step_ns, inferences_in_step) AS throughput_per_s,
    CASE WHEN inputs_of(batch) IS NULL THEN 'inferences' ELSE 'inputs' END AS throughput_of
  FROM model_latency LEFT JOIN model_times() USING (batch)),
gain AS (
  SELECT stat.*, pct(twice.throughput_per_s - stat.throughput_per_s, stat.throughput_per_s)
    AS doubling_gain_pct
  FROM stat LEFT JOIN stat twice ON twice.batch = 2 * stat.batch),
choice AS (
  SELECT count(*) AS sizes, max(throughput_per_s) AS highest,
    min(batch) FILTER (doubling_gain_pct <= CAST($knee_gain_pct AS DOUBLE)) AS knee,
    max_by(batch, throughput_per_s) FILTER (latency_ns <= 1e6 * CAST($max_latency_ms AS DOUBLE)) AS bounded,
    max_by(batch, throughput_per_s) AS fastest
  FROM gain),
peak_choice AS (SELECT min(batch) AS peak FROM gain, choice WHERE throughput_per_s >= 0.99 * highest)
SELECT gain.*, array_to_string(list_filter([
    CASE WHEN inputs_of(batch) = 1 THEN 'online' END,
    CASE WHEN batch = knee THEN 'knee' END,
    CASE WHEN batch = peak AND sizes > 1 THEN 'peak' END,
    CASE WHEN batch = bounded THEN 'bounded' END,
    CASE WHEN batch = fastest AND sizes > 1 THEN 'fastest' END], lambda one: one IS NOT NULL), ', ') AS role,
  doubts_of(2, batch) AS doubt
FROM gain, choice, peak_choice
ORDER BY batch
