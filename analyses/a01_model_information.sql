-- @id a1
-- @name model_information
-- @title Model information
-- @question How fast is the model at each batch size, and which size is best?
-- The latencies come from the runs that recorded only the level model. latency_ns is the mean over the typical
-- inferences: the fastest fifth and the slowest fifth are left out. Its 95 % interval is computed over the blocks that
-- were measured in turns. `doubt` gives the reasons to doubt the latency. latency_ns is the time of the call on the
-- host. If a device ran, device_ns is the time of the device, and span_ns is the time of host and device together;
-- both come from the kernel run. The latency alone does not show how long the model takes if the program trains, or
-- marks its steps, or if the call returns before the device is done. The model then takes step_ns, the period of the
-- program's step (see time_of_step), and throughput_per_s is computed from it. Two rules name an optimal batch size.
-- `knee` is the first batch size whose doubling gains no more than knee_gain_pct of throughput. `peak` is the
-- smallest batch size within 1 % of the highest throughput. If max_latency_ms is given, `bounded` is the batch size
-- with the highest throughput among those whose latency is within max_latency_ms. A rule names no batch size if the
-- measured sizes do not decide it. If the batches have no one size that is known, there is no throughput, and no rule
-- names a size; throughput_of says why.
-- @needs model
-- @param max_latency_ms double>0 - The latency that the rule `bounded` allows, in ms; by default the rule is not used.
-- @param knee_gain_pct double 5 The gain of throughput in % at or below which doubling the batch is not worth it.
-- @view bar x=batch y=throughput_per_s
-- @view table columns=batch,iterations,latency_ns,low_ns,high_ns,median_ns,p99_ns
-- @view table columns=throughput_per_s,doubling_gain_pct,role
-- @view table columns=device_ns,span_ns,step_ns
-- @view table columns=doubt
-- @view table bar=throughput_per_s
-- @column batch count Inputs per inference; empty: they differ, or are not known.
-- @column iterations count Number of inferences that were measured.
-- @column latency_ns ns Mean latency of the typical inferences.
-- @column median_ns ns Median of the latency.
-- @column low_ns ns Lower end of the 95 % interval of latency_ns; empty below 6 blocks.
-- @column high_ns ns Upper end of the 95 % interval of latency_ns.
-- @column p90_ns ns 90th percentile of the latency.
-- @column p99_ns ns 99th percentile of the latency.
-- @column device_ns ns Device time of the call's work, overlaps counted once; empty: no device was recorded.
-- @column span_ns ns Time from the call's first launch to its own end or the end of its work, the later.
-- @column host_ns ns Time of the call on the host in the kernel run, which also gives device_ns and span_ns.
-- @column step_ns ns Period of the program's step, if that is the model's time; empty: latency_ns is the whole time.
-- @column step_low_ns ns Lower end of the 95 % interval of step_ns; empty below six steps.
-- @column step_high_ns ns Upper end of the 95 % interval of step_ns.
-- @column headline text The rate of the program's steps, as a sentence; empty: latency_ns is the whole time.
-- @column throughput_per_s per_s Inputs per second: batch / latency_ns or step_ns; or what throughput_of says.
-- @column throughput_of text What it counts: inputs, or inferences of one shape; or why it is not measured.
-- @column doubling_gain_pct pct Gain of throughput from doubling the batch size; empty: not measured.
-- @column role text Roles of this size: online (batch 1), knee, peak, bounded, fastest (highest throughput).
-- @column doubt text The reason why the latency is less certain than requested; empty: no doubt.
WITH stat AS (
  SELECT batch, model_latency.inferences AS iterations, latency_ns, quantile_of(sorted, 0.5) AS median_ns, low_ns,
    high_ns,
    quantile_of(sorted, 0.9) AS p90_ns, quantile_of(sorted, 0.99) AS p99_ns,
    device_ns, span_ns, host_ns, step_ns, step_ns - half_ns AS step_low_ns, step_ns + half_ns AS step_high_ns, headline,
    coalesce(inputs_of(batch), CASE WHEN have_one_shape() THEN 1 END)
      * inferences_per_s(latency_ns, step_ns, inferences_in_step) AS throughput_per_s,
    CASE WHEN inputs_of(batch) IS NOT NULL THEN 'inputs' WHEN have_one_shape() THEN 'inferences'
      ELSE 'not measured: ' || fact_of('not_measured.batch') END AS throughput_of
  FROM model_latency LEFT JOIN model_time USING (batch)),
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
SELECT gain.* REPLACE (inputs_of(batch) AS batch), array_to_string(list_filter([
    CASE WHEN inputs_of(batch) = 1 THEN 'online' END,
    CASE WHEN batch = knee THEN 'knee' END,
    CASE WHEN batch = peak AND sizes > 1 THEN 'peak' END,
    CASE WHEN batch = bounded THEN 'bounded' END,
    CASE WHEN batch = fastest AND sizes > 1 THEN 'fastest' END], lambda one: one IS NOT NULL), ', ') AS role,
  doubts_of(2, batch) AS doubt
FROM gain, choice, peak_choice
ORDER BY gain.batch
