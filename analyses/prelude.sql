-- What the analyses share: temporary macros and views, loaded before each of them; nothing of it is written
-- to the file. The formulae and their units are defined here, once.

-- ---- Levels and runs ---------------------------------------------------------------------------------

CREATE OR REPLACE TEMP MACRO level_number(level_name) AS
  CASE level_name WHEN 'application' THEN 1 WHEN 'model' THEN 2 WHEN 'layer' THEN 3
                  WHEN 'library' THEN 4 WHEN 'api' THEN 5 WHEN 'kernel' THEN 6 END;
CREATE OR REPLACE TEMP MACRO level_name(number) AS
  CASE number WHEN 1 THEN 'application' WHEN 2 THEN 'model' WHEN 3 THEN 'layer'
              WHEN 4 THEN 'library' WHEN 5 THEN 'api' WHEN 6 THEN 'kernel' END;
-- 'model,layer' is 3: a profiler is exact for the deepest level that it records, and slows those above.
CREATE OR REPLACE TEMP MACRO deepest_level(levels) AS
  list_max(list_transform(string_split(levels, ','), lambda one: level_number(trim(one))));

-- The run that a level's own numbers come from, for each batch size: the one in which that level was the
-- deepest, without hardware counters; the longest, where there are several. A model without a batch
-- dimension has batch 1.
CREATE OR REPLACE TEMP VIEW measured_run AS
  SELECT run_id, coalesce(batch, 1) AS batch, deepest_level(levels) AS level, levels, iterations,
    coalesce(warmup_iterations, 0) AS warmup_iterations, framework, framework_version, device, threads
  FROM run
  WHERE status <> 'failed' AND counters IS NULL AND iterations > 0
  QUALIFY row_number() OVER (PARTITION BY coalesce(batch, 1), deepest_level(levels)
                             ORDER BY iterations DESC, run_id) = 1;
CREATE OR REPLACE TEMP MACRO chosen_batch(wanted_level, wanted_batch) AS
  coalesce(wanted_batch, (SELECT min(batch) FROM measured_run WHERE level = wanted_level));
CREATE OR REPLACE TEMP MACRO chosen_run(wanted_level, wanted_batch) AS
  (SELECT run_id FROM measured_run
   WHERE level = wanted_level AND batch = chosen_batch(wanted_level, wanted_batch));

-- NULL if it was measured, else the reason in the form `what: why`.
CREATE OR REPLACE TEMP MACRO why_no_level(wanted) AS CASE
  WHEN EXISTS (SELECT 1 FROM measured_run r JOIN span s USING (run_id)
               WHERE r.level = level_number(wanted) AND s.level = level_number(wanted)) THEN NULL
  WHEN EXISTS (SELECT 1 FROM measured_run WHERE level = level_number(wanted))
    THEN concat('level ', wanted, ': the framework recorded nothing at this level')
  ELSE coalesce(
    (SELECT concat('level ', wanted, ': ', reason) FROM run
     WHERE deepest_level(levels) = level_number(wanted) AND reason <> '' ORDER BY run_id LIMIT 1),
    CASE WHEN level_number(wanted) >= 5 AND NOT EXISTS (SELECT 1 FROM run WHERE device LIKE 'cuda%')
      THEN concat('no GPU: the runs were on the CPU, where level ', wanted, ' does not exist') END,
    concat('level ', wanted, ': profile with --levels ',
           CASE wanted WHEN 'layer' THEN 'model,layer' WHEN 'model' THEN 'model' ELSE 'all' END)) END;
CREATE OR REPLACE TEMP MACRO why_not_measured(need) AS CASE
  WHEN need <> 'peak' THEN why_no_level(need)
  WHEN NOT EXISTS (SELECT 1 FROM peak) THEN 'ceilings of the device: none in this file: profile again' END;

-- ---- Statistics --------------------------------------------------------------------------------------

-- Of a sorted, non-empty list. The latency that the analyses quote is the trimmed mean: a fifth of the
-- values, rounded down, is dropped at each end.
CREATE OR REPLACE TEMP MACRO trim_count(n) AS CAST(n // 5 AS BIGINT);
CREATE OR REPLACE TEMP MACRO trimmed_mean(sorted) AS
  list_avg(list_slice(sorted, trim_count(len(sorted)) + 1, len(sorted) - trim_count(len(sorted))));
-- By linear interpolation, as quantile_cont.
CREATE OR REPLACE TEMP MACRO quantile_of(sorted, q) AS
  sorted[CAST(floor(q * (len(sorted) - 1)) AS BIGINT) + 1] + CAST(q * (len(sorted) - 1) % 1 AS DOUBLE) *
  (sorted[CAST(ceil(q * (len(sorted) - 1)) AS BIGINT) + 1] -
   sorted[CAST(floor(q * (len(sorted) - 1)) AS BIGINT) + 1]);
-- The 95 % interval of the median, free of any distribution: order statistics r and n + 1 - r, where r is
-- the largest rank with P(Binomial(n, 1/2) < r) <= 2.5 %. This closed form gives that rank exactly for
-- every n up to 3000; below 6 values there is none, and the interval is NULL.
CREATE OR REPLACE TEMP MACRO interval_rank(n) AS
  CASE WHEN n >= 6 THEN CAST(floor((n + 1 - 1.959963984540054 * sqrt(n - 0.45)) / 2) AS BIGINT) END;
CREATE OR REPLACE TEMP MACRO interval_low(sorted) AS sorted[interval_rank(len(sorted))];
CREATE OR REPLACE TEMP MACRO interval_high(sorted) AS
  sorted[len(sorted) + 1 - interval_rank(len(sorted))];
CREATE OR REPLACE TEMP MACRO pct(part, whole) AS 100.0 * part / nullif(whole, 0);

-- ---- Model level -------------------------------------------------------------------------------------

-- The sorted latencies of the measured inferences of each model-only run.
CREATE OR REPLACE TEMP VIEW model_latency AS
  SELECT r.batch, r.run_id, list_sort(list(s.duration_ns)) AS sorted
  FROM measured_run r JOIN span s USING (run_id)
  WHERE r.level = 2 AND s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open
  GROUP BY r.batch, r.run_id;

-- ---- Layer level -------------------------------------------------------------------------------------

-- One row for each layer that was executed in the layer run of one batch size (NULL: the smallest), in the
-- order of execution. A layer that runs several times in an inference counts with all of them: its latency
-- is that of one execution times their number. self_ns leaves out the layers nested in it.
--
-- Sites are aggregated before anything is joined: the file may hold ten million spans. The trimmed mean
-- comes from two passes, without sorting: the values between the 20 % and the 80 % quantile, and of those
-- equal to these two as many as are not among the dropped.
CREATE OR REPLACE TEMP MACRO layers(wanted_batch) AS TABLE
  WITH execution AS NOT MATERIALIZED (
    SELECT * FROM span
    WHERE run_id = chosen_run(3, wanted_batch) AND level = 3 AND iteration >= 0 AND NOT is_open),
  site AS (
    SELECT site_id, count(*) AS executions, min(span_id) AS span_id, min(ordinal) AS ordinal,
      quantile_disc(duration_ns, [0.2, 0.25, 0.5, 0.5000000001, 0.75, 0.8]) AS q,
      min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
      coalesce(sum(self_ns) / nullif(sum(duration_ns), 0), 1) AS self_share
    FROM execution GROUP BY site_id),
  fence AS (SELECT site_id, executions, q[1] AS low, q[6] AS high FROM site),
  inner_part AS (
    SELECT site_id,
      CASE WHEN any_value(low) = any_value(high) THEN any_value(low) ELSE
        (coalesce(sum(duration_ns) FILTER (duration_ns > low AND duration_ns < high), 0)
          + any_value(low) * (count(*) FILTER (duration_ns <= low) - trim_count(count(*)))
          + any_value(high) * (count(*) FILTER (duration_ns >= high) - trim_count(count(*))))
        / (count(*) - 2 * trim_count(count(*))) END AS trimmed_ns
    FROM execution JOIN fence USING (site_id) GROUP BY site_id),
  inference AS (
    SELECT count(*) AS inferences FROM span
    WHERE run_id = chosen_run(3, wanted_batch) AND level = 2 AND depth = 0 AND iteration >= 0
      AND NOT is_open)
  SELECT chosen_run(3, wanted_batch) AS run_id, chosen_batch(3, wanted_batch) AS batch, site.site_id,
    site.ordinal, first.depth, first.name, first.type, site.executions,
    site.executions / inferences AS per_inference,
    trimmed_ns * site.executions / inferences AS latency_ns,
    trimmed_ns * site.executions / inferences * self_share AS self_ns,
    (q[3] + q[4]) / 2 * site.executions / inferences AS median_ns,
    min_ns, q[2] AS quartile1_ns, q[5] AS quartile3_ns, max_ns
  FROM site JOIN inner_part USING (site_id) CROSS JOIN inference
    JOIN (SELECT span_id, depth, name, type FROM span WHERE run_id = chosen_run(3, wanted_batch)) first
      USING (span_id);

-- One row for each layer: its counters, whether they hold for the site or were counted span by span.
CREATE OR REPLACE TEMP MACRO layer_counters(wanted_batch) AS TABLE
  WITH counted AS (
    SELECT site_id, name, value FROM site_counter WHERE run_id = chosen_run(3, wanted_batch)
    UNION ALL
    SELECT s.site_id, c.name, median(c.value)
    FROM span_counter c JOIN span s USING (run_id, span_id)
    WHERE c.run_id = chosen_run(3, wanted_batch) AND s.level = 3 AND s.iteration >= 0
    GROUP BY s.site_id, c.name)
  SELECT site_id,
    max(value) FILTER (name = 'allocated_bytes') AS allocated_bytes,
    max(value) FILTER (name = 'output_bytes') AS output_bytes,
    max(value) FILTER (name = 'parameter_bytes') AS parameter_bytes,
    max(value) FILTER (name = 'activation_bytes') AS activation_bytes
  FROM counted GROUP BY site_id;

-- One row for each layer: what its shapes are, as lists of dimensions, inputs with the weights among them.
CREATE OR REPLACE TEMP MACRO layer_shapes(wanted_batch) AS TABLE
  SELECT site_id,
    try_cast(any_value(value) FILTER (key = 'input_shapes') AS BIGINT[][]) AS inputs,
    try_cast(any_value(value) FILTER (key = 'output_shapes') AS BIGINT[][]) AS outputs,
    try_cast(any_value(value) FILTER (key = 'input_dtypes') AS VARCHAR[]) AS input_types,
    try_cast(any_value(value) FILTER (key = 'output_dtypes') AS VARCHAR[]) AS output_types
  FROM site_attribute WHERE run_id = chosen_run(3, wanted_batch) GROUP BY site_id;
-- [[1,64,56,56]] is '1x64x56x56'; several are separated by blanks, a scalar is 'scalar'.
CREATE OR REPLACE TEMP MACRO shape_text(shapes) AS
  array_to_string(list_transform(shapes, lambda s:
    CASE WHEN len(s) = 0 THEN 'scalar' ELSE array_to_string(s, 'x') END), ' ');
