-- The runs of an evaluation, and the time of an inference: loaded before the other preludes.
--
-- This is the only definition. The measured inferences of a run are ranked by the model's latency, and a fifth of them,
-- rounded down, is dropped at each end. The rest are the run's typical inferences. Every figure of the run (model,
-- layer, call, kernel) is the plain mean, over the typical inferences, of its sum in an inference. So parts add up to
-- the whole by construction, and one pass over the spans is enough. The 95 % interval is that of Tukey and McLaughlin
-- for a trimmed mean, with the blocks as the independent units. The residual of a block is: its values, winsorised at
-- the fences of the trimming and summed, less what the block would have at the mean, over the count of the typical
-- inferences. A difference of two runs subtracts their residuals, block by block, before they are squared.
--
-- src/desk/statistics/typical.h has the same in C++ for the stop rule, with reasons, sources and simulated coverage; a
-- test checks that the two are equal on random data.

-- ---- Levels and runs ---------------------------------------------------------------------------------

CREATE OR REPLACE TEMP MACRO level_number(level_name) AS
  CASE level_name WHEN 'application' THEN 1 WHEN 'model' THEN 2 WHEN 'layer' THEN 3
                  WHEN 'library' THEN 4 WHEN 'api' THEN 5 WHEN 'kernel' THEN 6 END;
CREATE OR REPLACE TEMP MACRO level_name(number) AS
  CASE number WHEN 1 THEN 'application' WHEN 2 THEN 'model' WHEN 3 THEN 'layer'
              WHEN 4 THEN 'library' WHEN 5 THEN 'api' WHEN 6 THEN 'kernel' END;
-- 'model,layer' is 3: a profiler is exact for the deepest level that it records, and slows the levels above it.
CREATE OR REPLACE TEMP MACRO deepest_level(levels) AS
  list_max(list_transform(string_split(levels, ','), lambda one: level_number(trim(one))));

CREATE OR REPLACE TEMP MACRO has_counters(counters) AS coalesce(counters, 'none') NOT IN ('', 'none');

-- The device of each run. The runs of a watched program show its device only if they record the level kernel, but the
-- program uses the device in the other runs as well.
CREATE OR REPLACE TEMP VIEW run_device AS
  SELECT run_id, coalesce(device, (SELECT min(device) FROM run)) AS device FROM run;

-- The run that provides a level's own numbers, for each batch size. It is a run in which that level is the deepest:
-- without counters rather than with; the longest, if there are several. Runs that count on the device replay their
-- kernels, so their times are not used. Runs whose batch size is not known share the key 1, which is not their size:
-- inputs_of() is.
CREATE OR REPLACE TEMP TABLE measured_run AS
  SELECT run_id, coalesce(batch, 1) AS batch, deepest_level(levels) AS level, levels, iterations,
    framework, framework_version, run_device.device, threads, stopped_by
  FROM run JOIN run_device USING (run_id)
  WHERE status <> 'failed' AND iterations > 0
    AND (deepest_level(levels) <= 3 OR NOT has_counters(counters))
  QUALIFY row_number() OVER (PARTITION BY coalesce(batch, 1), deepest_level(levels)
                             ORDER BY has_counters(counters), iterations DESC, run_id) = 1;
-- The levels whose spans each run has, on the host and on a device.
CREATE OR REPLACE TEMP TABLE run_level AS
  SELECT run_id, level, bool_or(device IS NULL) AS on_host, bool_or(device IS NOT NULL) AS on_device
  FROM span WHERE iteration >= 0 GROUP BY run_id, level;
-- The run from which each level is reported. A program that was recorded with only one set of levels has no run of its
-- own for the level model, or layer. Then the run with the fewest deeper levels is used; their cost is in the numbers,
-- and `recorded_level` is the deepest of them.
CREATE OR REPLACE TEMP TABLE source_run AS
  SELECT level, batch, run_id, level AS recorded_level FROM measured_run
  UNION ALL
  SELECT w.level, r.batch, min_by(r.run_id, r.level), min(r.level)
  FROM (VALUES (2), (3)) w(level) JOIN measured_run r ON r.level > w.level
    JOIN run_level l ON l.run_id = r.run_id AND l.level = w.level AND l.on_host
  WHERE NOT EXISTS (SELECT 1 FROM measured_run o WHERE o.level = w.level AND o.batch = r.batch)
  GROUP BY w.level, r.batch;
-- Whether a device did anything, and whether the kernels were to be recorded.
CREATE OR REPLACE TEMP MACRO has_device_work() AS EXISTS (FROM span WHERE level = 6);
CREATE OR REPLACE TEMP MACRO has_kernel_run() AS EXISTS (FROM measured_run WHERE level = 6);
-- The tables that build on this one are about one batch size (NULL: the smallest), one source of ceilings, and at most
-- so many periods of a process. xsp sets them before it runs an analysis (src/desk/analyze/prelude.h). They are tables
-- and not macros, because DuckDB plans a macro again in each query that names it, and planning takes longer than
-- computing.
CREATE OR REPLACE TEMP TABLE asked_for AS
  SELECT CAST(NULL AS INTEGER) AS batch, 'measured' AS peaks, 100 AS periods;
CREATE OR REPLACE TEMP MACRO asked_batch() AS (SELECT batch FROM asked_for);
CREATE OR REPLACE TEMP MACRO chosen_batch(wanted_level, wanted_batch) AS
  coalesce(wanted_batch, (SELECT min(batch) FROM source_run WHERE level = wanted_level));
CREATE OR REPLACE TEMP MACRO chosen_run(wanted_level, wanted_batch) AS
  (SELECT run_id FROM source_run
   WHERE level = wanted_level AND batch = chosen_batch(wanted_level, wanted_batch));

-- Returns the inputs of an inference, for figures per input. NULL: unknown, because programs that xsp did not write may
-- call their model with any number of inputs.
CREATE OR REPLACE TEMP MACRO inputs_of(batch) AS
  CASE WHEN NOT EXISTS (SELECT 1 FROM evaluation WHERE key = 'not_measured.batch') THEN batch END;
-- Whether all inferences have inputs of the same shapes. Then they do the same work, and their rate is one although
-- their inputs cannot be counted. A load may join several requests in one.
CREATE OR REPLACE TEMP MACRO have_one_shape() AS EXISTS (FROM evaluation WHERE starts_with(key, 'input.'))
  AND coalesce((SELECT max(value) FROM evaluation WHERE key = 'scenario.max_batch'), '1') = '1';

-- The run that provides the layers of each batch size: the layer run. If a CUDA graph is replayed, no layer in it runs
-- on the host after the warm-up, so that run lacks them. Then the kernel run is used, which knows when each layer's
-- kernels ran. A layer's time is then that of the device, from the first kernel's start to the last one's end.
CREATE OR REPLACE TEMP TABLE layer_run AS
  SELECT batch, run_id, recorded_level, on_device FROM (
    SELECT s.batch, s.run_id, s.recorded_level, false AS on_device, 2 AS rank
    FROM source_run s JOIN run_level l USING (run_id) WHERE s.level = 3 AND l.level = 3 AND l.on_host
    UNION ALL
    SELECT r.batch, r.run_id, r.level, true, CASE WHEN l.on_host THEN 1 ELSE 3 END  -- 1: some layers are in a graph
    FROM measured_run r JOIN run_level l USING (run_id)
    WHERE r.level = 6 AND l.level = 3 AND l.on_device)
  QUALIFY row_number() OVER (PARTITION BY batch ORDER BY rank) = 1;
CREATE OR REPLACE TEMP MACRO chosen_layer_run(wanted_batch) AS
  (SELECT run_id FROM layer_run WHERE batch = chosen_batch(3, wanted_batch));

CREATE OR REPLACE TEMP MACRO is_cpu(device) AS NOT coalesce(device LIKE 'cuda%' OR device LIKE 'opencl%', false);
CREATE OR REPLACE TEMP MACRO fact_of(wanted_key) AS (SELECT max(value) FROM evaluation WHERE key = wanted_key);
-- Returns why no run of a program that xsp did not write has this level as its deepest, and what to do, for a program
-- that was watched or that recorded itself. NULL: the model was profiled.
CREATE OR REPLACE TEMP MACRO why_not_alone(wanted) AS CASE
  WHEN fact_of('recorded_by') IS NULL THEN NULL
  WHEN NOT EXISTS (SELECT 1 FROM run WHERE list_contains(string_split(levels, ','), wanted)) THEN
    'nothing recorded it: see --levels, --steps and --delay of xsp run'
  WHEN NOT EXISTS (SELECT 1 FROM span WHERE level = 2) THEN
    concat('no call of a model was seen: open a span at level model around each (xsp/xsp.h, xsp.span); ',
           'xsp analyze hotspots needs none')
  WHEN fact_of('recorded_by') <> 'xsp run' THEN
    concat('the program recorded deeper levels at once, which slow it: record it without them (XSP_LEVELS, or the ',
           'argument levels of xsp.profile), or use xsp run')
  WHEN fact_of('leveled') = 'no' THEN
    'deeper levels were recorded at once, which slow it: leave out --leveled=no, or name no deeper ones in --levels'
  WHEN fact_of('leveled') = 'runs' THEN
    'no inference was whole in the execution of the command that recorded it: let the command do more of them'
  ELSE concat('nothing was recorded without deeper levels, which slow it: let the program do more steps, or use ',
              'xsp run --leveled=runs') END;
-- One row for each level, with NULL if it was measured, else the reason in the form `what: why`.
CREATE OR REPLACE TEMP TABLE level_absence AS SELECT wanted AS level, CASE
  WHEN EXISTS (SELECT 1 FROM source_run r JOIN run_level l USING (run_id)
               WHERE r.level = level_number(wanted) AND l.level = level_number(wanted))
    THEN NULL
  WHEN wanted = 'layer' AND EXISTS (FROM layer_run) THEN NULL
  WHEN EXISTS (SELECT 1 FROM measured_run WHERE level = level_number(wanted))
    THEN concat('level ', wanted, CASE WHEN fact_of('recorded_by') IS NULL THEN ': the framework recorded nothing at'
                ELSE ': no inference with a span of it: neither a framework nor the program recorded any at' END,
                ' this level')
  ELSE coalesce(
    (SELECT CASE WHEN value LIKE 'no %' THEN value ELSE concat('level ', wanted, ': ', value) END
     FROM evaluation WHERE key = concat('not_measured.', wanted)),
    (SELECT concat('level ', wanted, ': ', reason) FROM run
     WHERE deepest_level(levels) = level_number(wanted) AND reason <> '' ORDER BY run_id LIMIT 1),
    CASE WHEN level_number(wanted) >= 5 AND NOT EXISTS (SELECT 1 FROM run WHERE NOT is_cpu(device))
      THEN 'no GPU: the runs were on the CPU' END,
    'level ' || wanted || ': ' || why_not_alone(wanted),
    concat('level ', wanted, ': profile with --levels ',
           CASE wanted WHEN 'layer' THEN 'model,layer' WHEN 'model' THEN 'model' ELSE 'all' END)) END AS why
  FROM (SELECT unnest(['application', 'model', 'layer', 'library', 'api', 'kernel']) AS wanted);
CREATE OR REPLACE TEMP MACRO why_no_level(wanted) AS CASE
  WHEN level_number(wanted) IS NULL THEN concat('level ', wanted, ': there is no such level')
  ELSE (SELECT why FROM level_absence WHERE level = wanted) END;
-- Phases are recorded only of programs that `xsp run` watches.
CREATE OR REPLACE TEMP MACRO why_no_training() AS
  CASE WHEN NOT EXISTS (
      SELECT 1 FROM measured_run r JOIN span s USING (run_id) JOIN site_attribute a USING (run_id, site_id)
      WHERE s.level = 1 AND s.type = 'phase' AND a.key = 'phase' AND a.value = 'optimizer')
    THEN 'training: no step of an optimiser was recorded: watch a training with xsp run' END;
-- The part of a program that xsp run was to record may begin after the program's end.
CREATE OR REPLACE TEMP MACRO why_no_part() AS 'steps: ' || fact_of('note.part');
CREATE OR REPLACE TEMP MACRO why_no_steps() AS
  CASE WHEN NOT EXISTS (
      SELECT 1 FROM span WHERE NOT is_open AND (level = 2 OR (level = 1 AND type = 'step')))
    THEN coalesce(why_no_part(), concat('steps: none were seen, no mark, no optimiser''s step, no call of a model: ',
      'mark them with xsp.step() in Python, xsp_step() in C; flame_graph needs none')) END;
CREATE OR REPLACE TEMP MACRO why_no_samples() AS
  CASE WHEN NOT EXISTS (SELECT 1 FROM sample)
    THEN 'samples: nobody looked where the threads were: watch the program with xsp run, without --no-stacks' END;
CREATE OR REPLACE TEMP MACRO why_no_watched() AS
  CASE WHEN fact_of('recorded_by') IS NULL THEN 'steps of a program: watch one with xsp run' ELSE why_no_steps() END;
-- Returns why the time of a step is not divided by cause. xsp divides that of a program that it watches, and of a model
-- on a device, which waits for the host at times. A model on a CPU never waits so: its layers take all of its time.
CREATE OR REPLACE TEMP MACRO why_no_causes() AS
  CASE WHEN fact_of('recorded_by') IS NULL AND NOT EXISTS (SELECT 1 FROM span WHERE level = 6 AND device IS NOT NULL)
    THEN 'causes of waiting: no device was recorded: profile on a GPU, or watch a program with xsp run' END;
CREATE OR REPLACE TEMP MACRO why_no_requests() AS
  CASE (SELECT count(*) FROM span WHERE level = 1 AND type = 'request'
        AND run_id = (SELECT min(run_id) FROM span WHERE level = 1 AND type = 'request'))
    WHEN 0 THEN 'requests: none were answered: let the model answer some with xsp evaluate'
    WHEN 1 THEN 'requests: only one was answered, so there is none to compare it with: let the model answer more' END;
CREATE OR REPLACE TEMP MACRO why_no_tokens() AS
  CASE WHEN NOT EXISTS (SELECT 1 FROM span WHERE level = 1 AND type = 'token')
    THEN 'tokens: none were generated: evaluate a language model with --scenario generation' END;
CREATE OR REPLACE TEMP MACRO why_no_load() AS
  CASE WHEN NOT EXISTS (SELECT 1 FROM result WHERE metric = 'latency.mean')
    THEN 'load: no latency of requests was measured: let the model answer some with xsp evaluate' END;
CREATE OR REPLACE TEMP MACRO why_no_loads() AS
  CASE WHEN (SELECT count(*) FROM result
      WHERE metric = 'latency_at_rate' OR metric LIKE '%.at\_clients' ESCAPE '\') < 2
    THEN concat('loads: only one was measured: search for a rate with xsp evaluate --scenario max-rate, or give ',
      'several numbers of --clients') END;
CREATE OR REPLACE TEMP MACRO why_no_batches() AS
  CASE WHEN (SELECT count(*) FROM measured_run WHERE level = 6) = 1
    THEN 'batch sizes: kernels were recorded at one alone: profile with --batch 1,8,64' END;
CREATE OR REPLACE TEMP MACRO why_no_whole() AS
  CASE WHEN EXISTS (FROM audit_fact WHERE name = 'condensed_spans') THEN concat('all inferences and the warm-up: xsp ',
      'condense left out what is below their level model: ask the evaluation from which this copy was made') END;
CREATE OR REPLACE TEMP MACRO why_no_peak() AS
  CASE WHEN NOT EXISTS (SELECT 1 FROM peak) THEN concat('ceilings of the device: ', CASE
    WHEN fact_of('recorded_by') = 'xsp run' THEN
      'xsp run measures none, and no GPU told its own: profile the model with xsp profile'
    WHEN fact_of('recorded_by') IS NOT NULL THEN 'what was imported has none: profile the model with xsp profile'
    WHEN fact_of('experiment.id') IS NOT NULL THEN 'xsp diff --run measures none: profile the model with xsp profile'
    ELSE 'none here: profile without --no-peaks' END) END;

-- ---- Statistics --------------------------------------------------------------------------------------

-- Returns the quantile of a sorted, non-empty list by linear interpolation, as quantile_cont does.
CREATE OR REPLACE TEMP MACRO quantile_of(sorted, q) AS
  sorted[CAST(floor(q * (len(sorted) - 1)) AS BIGINT) + 1] + CAST(q * (len(sorted) - 1) % 1 AS DOUBLE) *
  (sorted[CAST(ceil(q * (len(sorted) - 1)) AS BIGINT) + 1] -
   sorted[CAST(floor(q * (len(sorted) - 1)) AS BIGINT) + 1]);
-- Returns half the width of a 95 % interval in standard errors: the 97.5 % quantile of Student's t with df degrees of
-- freedom, NULL below one. Beyond the table, Cornish-Fisher's expansion about the normal quantile is right to 2e-6.
CREATE OR REPLACE TEMP MACRO student_t(df) AS CASE
  WHEN df < 1 THEN NULL
  WHEN df < 31 THEN [12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624,
    2.306004, 2.262157, 2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450,
    2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658,
    2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272][CAST(floor(df) AS BIGINT)]
  ELSE 1.959963984540054 + (2.3722712302985620 + (2.8224986157396112 + 2.5558496795077221 / df) / df) / df END;
CREATE OR REPLACE TEMP MACRO pct(part, whole) AS 100.0 * part / nullif(whole, 0);
-- Returns a time for a sentence: "1.56 ms". DuckDB copies an argument to each place that names it, and plans each copy;
-- it plans an argument of a lambda once.
CREATE OR REPLACE TEMP MACRO time_text(ns) AS list_transform([CAST(ns AS DOUBLE)], lambda once: CASE
  WHEN once >= 1e9 THEN printf('%.2f s', once / 1e9) WHEN once >= 1e6 THEN printf('%.2f ms', once / 1e6)
  WHEN once >= 1e3 THEN printf('%.1f us', once / 1e3) ELSE printf('%.0f ns', once) END)[1];
-- Returns the rate per second of an event that takes `ns`, for a sentence: "45.8".
CREATE OR REPLACE TEMP MACRO rate_text(ns) AS
  printf('%.*f', CASE WHEN ns <= 1e7 THEN 0 WHEN ns <= 1e9 THEN 1 ELSE 3 END, 1e9 / ns);

-- ---- Inferences --------------------------------------------------------------------------------------------

-- One row for each measured inference of each run: its outermost spans of the level model. Iterations from an open one
-- on are incomplete, because the process died in it. A run without blocks (of a program that xsp watched) is cut into
-- twenty consecutive parts, or one for each inference if there are fewer.
CREATE OR REPLACE TEMP TABLE measured_inference AS
  WITH open_run AS (
    SELECT run_id, min(iteration) AS open_iteration FROM span WHERE level = 2 AND is_open GROUP BY run_id),
  measured AS (
    SELECT s.run_id, coalesce(r.batch, 1) AS batch, coalesce(s.process, 0) AS process, s.iteration,
      min(s.start_ns) AS start_ns, sum(s.duration_ns) AS duration_ns,
      min_by(coalesce(s.thread, 0), s.start_ns) AS thread
    FROM span s JOIN run r USING (run_id) LEFT JOIN open_run o USING (run_id)
    WHERE s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open AND s.device IS NULL
      AND r.status <> 'failed' AND s.iteration < coalesce(o.open_iteration, 2147483647)
    GROUP BY ALL),
  ranked AS (
    SELECT *, count(*) OVER (PARTITION BY run_id) AS n,
      row_number() OVER (PARTITION BY run_id ORDER BY iteration, process) - 1 AS place,
      row_number() OVER (PARTITION BY run_id ORDER BY duration_ns, iteration, process) - 1 AS rank
    FROM measured),
  blocked AS (SELECT DISTINCT run_id, true AS has_blocks FROM block),
  placed AS (
    SELECT m.*, has_blocks, b.block FROM ranked m LEFT JOIN blocked USING (run_id)
      ASOF LEFT JOIN block b ON m.run_id = b.run_id AND m.iteration >= b.first_iteration)
  SELECT run_id, batch, process, thread, iteration, start_ns, CAST(duration_ns AS BIGINT) AS duration_ns,
    CAST(CASE WHEN has_blocks THEN coalesce(block, -1) ELSE place * least(20, n) // n END AS INTEGER) AS block,
    rank >= n // 5 AND rank < n - n // 5 AS is_typical,
    -- A tenth of the typical inferences, at least three, next to each fence. They are used for parts of an inference
    -- (see below).
    rank >= n // 5 AND rank < n // 5 + greatest(3, (n - 2 * (n // 5)) // 10) AND rank < n - n // 5 AS is_near_low,
    rank < n - n // 5 AND rank >= n - n // 5 - greatest(3, (n - 2 * (n // 5)) // 10) AND rank >= n // 5 AS is_near_high,
    rank < n // 5 AS is_below, rank >= n - n // 5 AS is_above
  FROM placed;

-- ---- Estimates ---------------------------------------------------------------------------------------------

-- Returns half the width of the 95 % interval, from the residuals of the blocks. NULL: fewer than six blocks.
CREATE OR REPLACE TEMP MACRO half_width(residuals) AS CASE WHEN len(residuals) >= 6 THEN
  student_t(len(residuals) - 1) * sqrt(len(residuals) / (len(residuals) - 1.0) *
    list_sum(list_transform(residuals, lambda one: CAST(one AS DOUBLE) * one))) END;

-- Returns the lower end of the 95 % interval of a time, which is not below 0. NULL: the interval is not known.
CREATE OR REPLACE TEMP MACRO interval_low(mean_ns, half_ns) AS
  CASE WHEN half_ns IS NOT NULL THEN greatest(0, mean_ns - half_ns) END;
-- The residual of each block of a run from the run's mean, and the run's latency with its interval; NULL: fewer than
-- six blocks. `low_fence_ns` and `high_fence_ns` are the least and the greatest typical latency.
CREATE OR REPLACE TEMP TABLE latency_residual AS
  WITH fence AS (
    SELECT run_id, count(*) FILTER (is_typical) AS typical, min(duration_ns) FILTER (is_typical) AS low_ns,
      max(duration_ns) FILTER (is_typical) AS high_ns
    FROM measured_inference GROUP BY run_id),
  winsorised AS (
    SELECT run_id, block, typical, count(*) AS n, sum(least(greatest(duration_ns, low_ns), high_ns)) AS sum_ns
    FROM measured_inference JOIN fence USING (run_id) GROUP BY ALL)
  SELECT run_id, block, (sum_ns - n * (sum(sum_ns) OVER of_run / sum(n) OVER of_run)) / typical AS residual_ns
  FROM winsorised WINDOW of_run AS (PARTITION BY run_id);
CREATE OR REPLACE TEMP TABLE run_latency AS
  WITH width AS (
    SELECT run_id, count(*) AS blocks, half_width(list(residual_ns)) AS half_ns FROM latency_residual GROUP BY run_id),
  mean AS (
    SELECT run_id, any_value(batch) AS batch, count(*) AS inferences, count(*) FILTER (is_typical) AS typical,
      avg(duration_ns) FILTER (is_typical) AS latency_ns, min(duration_ns) FILTER (is_typical) AS low_fence_ns,
      max(duration_ns) FILTER (is_typical) AS high_fence_ns
    FROM measured_inference GROUP BY run_id)
  SELECT m.*, w.blocks, interval_low(latency_ns, half_ns) AS low_ns, latency_ns + half_ns AS high_ns
  FROM mean m JOIN width w USING (run_id);

-- A series is cut into twenty consecutive parts, or as many as it has values. Returns the place of a part's first one.
CREATE OR REPLACE TEMP MACRO first_of_part(part, n) AS (part * n + least(20, n) - 1) // least(20, n);
-- Returns half the width of the 95 % interval of a series' plain mean, over these parts. The series is in the order of
-- measurement and is not a run's inferences; a program's steps, for example. It may have 100,000s of values, so its
-- mean is computed once for a part, and not for each value.
CREATE OR REPLACE TEMP MACRO mean_half_width(in_order) AS half_width(list_transform(range(least(20, len(in_order))),
  lambda part: list_sum(in_order[first_of_part(part, len(in_order)) + 1 : first_of_part(part + 1, len(in_order))])
    / len(in_order) - list_avg(in_order) / len(in_order)
      * (first_of_part(part + 1, len(in_order)) - first_of_part(part, len(in_order)))));

-- ---- The model's latency, and what puts it in doubt ----------------------------------------------------------

-- The model's latency at each batch size; `sorted` has every measured inference, for percentiles.
CREATE OR REPLACE TEMP TABLE model_latency AS
  SELECT s.batch, s.run_id, s.recorded_level, l.inferences, l.blocks, l.latency_ns, l.low_ns, l.high_ns,
    list_sort(list(i.duration_ns)) AS sorted
  FROM source_run s JOIN run_latency l USING (run_id) JOIN measured_inference i USING (run_id)
  WHERE s.level = 2 GROUP BY ALL;

-- Recording deeper levels changes the model's latency. This is the difference of the two shown latencies, with its
-- interval from the residuals of the blocks that were measured in turns.
CREATE OR REPLACE TEMP TABLE recording_effect AS
  WITH pair AS (
    SELECT r.batch, r.level, r.run_id, m.run_id AS model_run_id
    FROM measured_run r JOIN source_run m ON m.batch = r.batch AND m.level = 2 AND m.recorded_level = 2
    WHERE r.level > 2),
  residual AS (
    SELECT batch, level, block, sum(residual_ns) AS residual_ns FROM (
      SELECT p.batch, p.level, block, residual_ns FROM pair p JOIN latency_residual USING (run_id)
      UNION ALL
      SELECT p.batch, p.level, block, -residual_ns FROM pair p JOIN latency_residual o ON o.run_id = p.model_run_id)
    GROUP BY ALL),
  width AS (SELECT batch, level, half_width(list(residual_ns)) AS half_ns FROM residual GROUP BY ALL)
  SELECT p.batch, p.level, p.run_id, o.latency_ns AS without_ns, w.latency_ns AS with_ns,
    w.latency_ns - o.latency_ns AS effect_ns,
    CASE WHEN least(w.blocks, o.blocks) >= 6 THEN half_ns END AS half_ns
  FROM pair p JOIN run_latency w ON w.run_id = p.run_id JOIN run_latency o ON o.run_id = p.model_run_id
    LEFT JOIN width h ON h.batch = p.batch AND h.level = p.level;

-- recording_cost is the time that recording adds to the user's waiting time. This time is an inference; in a watched
-- program, it is the time from one call of the model to the next, because a call whose work runs on a device returns
-- early, or waits for the queue's end. If calls follow one another faster than the device can work, the host is ahead
-- of the device, and its times mean nothing.
CREATE OR REPLACE TEMP TABLE recording_cost AS
  WITH distance AS (
    SELECT run_id, median(ns) AS ns FROM (
      SELECT run_id, lead(start_ns) OVER (PARTITION BY run_id, process ORDER BY start_ns) - start_ns AS ns
      FROM measured_inference WHERE fact_of('recorded_by') IS NOT NULL)
    GROUP BY run_id HAVING count(ns) > 0),
  work AS (
    SELECT run_id, sum(duration_ns) / count(DISTINCT (process, iteration)) AS ns FROM span
    WHERE fact_of('recorded_by') IS NOT NULL AND level = 6 AND device IS NOT NULL AND NOT is_open
      AND iteration BETWEEN 0 AND 50 GROUP BY run_id)
  SELECT e.batch, e.level, CASE WHEN o.ns IS NULL THEN 'an inference' ELSE 'a step' END AS unit,
    coalesce(w.ns - o.ns, effect_ns) AS cost_ns, coalesce(o.ns, without_ns) AS without_ns
  FROM recording_effect e
    LEFT JOIN source_run m ON m.batch = e.batch AND m.level = 2 AND m.recorded_level = 2
    LEFT JOIN distance w ON w.run_id = e.run_id
    LEFT JOIN distance o ON o.run_id = m.run_id AND w.ns IS NOT NULL
  WHERE coalesce(o.ns > (SELECT max(work.ns) FROM work JOIN run_latency l USING (run_id) WHERE l.batch = e.batch),
    true);

CREATE OR REPLACE TEMP MACRO share_text(share) AS
  printf('%.*f %%', CASE WHEN share < 0.1 THEN 1 ELSE 0 END, 100 * share);
-- Returns how a run ended that did not reach the wanted interval. NULL: it reached it, or none was wanted.
CREATE OR REPLACE TEMP MACRO unsettled_text(stopped_by, latency_ns, high_ns, blocks) AS
  CASE WHEN EXISTS (FROM evaluation WHERE key = 'limits.width_pct' AND try_cast(value AS DOUBLE) = 0) THEN NULL
    WHEN stopped_by IN ('time', 'iterations', 'interrupt', 'failure') THEN concat('not settled: stopped by ',
    CASE stopped_by WHEN 'time' THEN 'time' WHEN 'iterations' THEN 'the number of inferences'
      WHEN 'interrupt' THEN 'an interrupt' ELSE 'a failure' END,
    CASE WHEN high_ns IS NULL THEN concat(' with ', blocks, ' of the 6 blocks that an interval takes')
         ELSE concat(' at ±', share_text((high_ns - latency_ns) / latency_ns)) END,
    (SELECT concat(', ', share_text(try_cast(value AS DOUBLE) / 100), ' was wanted')
     FROM evaluation WHERE key = 'limits.width_pct')) END;
-- Above these limits, the numbers of a level are doubtful: shares of the latency, and of the processors' time.
CREATE OR REPLACE TEMP MACRO distorted_share() AS 0.5;
CREATE OR REPLACE TEMP MACRO high_load_pct() AS 20;
-- A run that records a level may record those between it and the model, too, and its cost is that of all.
CREATE OR REPLACE TEMP MACRO recorded_text(level) AS
  concat(CASE WHEN level > 3 THEN 'the levels down to ' ELSE 'the level ' END, level_name(level));
-- The reasons why the numbers of a level at a batch size are doubtful. `kind` is unsettled; distorted: recording the
-- level lengthened an inference, or a step, by more than half; disturbed: recording seems to shorten it, which is
-- impossible, or other programs used much of the processors or of the GPU; combined: the level has no run of its own.
-- The processes that record the levels differ among themselves by about as much as the interval that was wanted, so a
-- smaller shortening says nothing.
CREATE OR REPLACE TEMP TABLE level_doubt AS
  SELECT s.batch, s.level, 'unsettled' AS kind,
    concat(unsettled_text(stopped_by, l.latency_ns, l.high_ns, l.blocks), CASE WHEN l.high_ns IS NULL THEN
      -- A copy that keeps few inferences has no interval, whatever the measurement had.
      (SELECT concat('; this copy keeps ', iterations - sum(value), ' of ', iterations, ' inferences')
       FROM audit_fact f WHERE f.run_id = l.run_id AND f.name = 'condensed_inferences'
       HAVING count(*) > 0) END) AS doubt
  FROM (
      SELECT s.batch, s.level, coalesce(l.run_id, s.run_id) AS run_id
      FROM source_run s LEFT JOIN layer_run l ON s.level = 3 AND l.batch = s.batch) s
    JOIN run_latency l USING (run_id) JOIN run USING (run_id)
  WHERE unsettled_text(stopped_by, l.latency_ns, l.high_ns, l.blocks) IS NOT NULL
  UNION ALL
  SELECT batch, level, 'combined', concat('the level ', level_name(level), ' has no run of its own: its times were ',
    'recorded with the level ', level_name(recorded_level), ', whose cost they include: ',
    coalesce(why_not_alone(level_name(level)), concat('profile with --levels ', level_name(level))))
  FROM source_run WHERE recorded_level > level
  UNION ALL
  SELECT batch, level, 'distorted', concat('distorted: recording ', recorded_text(level), ' lengthened ', unit,
    printf(' by %.0f %%', pct(cost_ns, without_ns)))
  FROM recording_cost WHERE cost_ns > distorted_share() * without_ns
  UNION ALL
  SELECT batch, level, 'disturbed', concat('disturbed: recording ', recorded_text(level),
    printf(' seems to shorten an inference by %.1f %%, which cannot be', -pct(effect_ns, without_ns)))
  FROM recording_effect
  WHERE effect_ns + greatest(half_ns, without_ns * coalesce(
      (SELECT try_cast(value AS DOUBLE) / 100 FROM evaluation WHERE key = 'limits.width_pct'), 0)) < 0
    AND half_ns IS NOT NULL AND (batch, level) IN (SELECT (batch, level) FROM recording_cost WHERE cost_ns < 0)
  UNION ALL
  SELECT batch, level, 'disturbed',
    printf('disturbed: other programs used %.0f %% of the processors', try_cast(value AS DOUBLE))
  FROM source_run, evaluation
  WHERE key = 'machine.other_load_pct' AND try_cast(value AS DOUBLE) > high_load_pct()
  UNION ALL
  SELECT batch, level, 'disturbed',
    printf('disturbed: other programs computed on the GPU for %.0f %% of the time', try_cast(value AS DOUBLE))
  FROM source_run, evaluation
  WHERE key = 'gpu.other_load_pct' AND try_cast(value AS DOUBLE) > high_load_pct();
-- Returns the doubts about one level in one text. NULL: there are none.
CREATE OR REPLACE TEMP MACRO doubts_of(wanted_level, wanted_batch) AS
  (SELECT string_agg(doubt, '; ' ORDER BY kind, doubt) FROM level_doubt
   WHERE level = wanted_level AND batch = wanted_batch);
