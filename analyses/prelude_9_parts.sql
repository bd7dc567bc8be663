-- The parts of the model's latency: types of layers, layers and kernels, and a named rest. Loaded after
-- prelude_9_device_time.sql.

-- Names the difference between the model's latency and the inference in which the layers were recorded. Where that
-- one took less, the difference is no cost.
CREATE OR REPLACE TEMP MACRO recording_item(with_ns, without_ns) AS
  CASE WHEN with_ns < without_ns THEN 'more in the other run' ELSE 'less the cost of recording' END;
-- Says how recording the layers changed the inference's time, or the kernels, if they tell the layers' times.
CREATE OR REPLACE TEMP MACRO recording_text(with_ns, without_ns) AS
  printf('an inference took %.2f %% %s while its %s were recorded',
    pct(abs(with_ns - without_ns), without_ns), CASE WHEN with_ns < without_ns THEN 'less' ELSE 'longer' END,
    CASE WHEN (SELECT bool_or(on_device) FROM layer_run WHERE batch = chosen_batch(3, asked_batch())) THEN 'kernels'
         ELSE 'layers' END);

-- The moments that time_of_step gives to each kernel of each layer. Of kernels that run at once, one has the moment.
CREATE OR REPLACE TEMP TABLE kernel_moment AS
  -- @if has_device_work() else (kernel VARCHAR, layer VARCHAR, alone_ns DOUBLE)
  SELECT culprit AS kernel, coalesce(layer, 'no layer') AS layer, sum(time_ns) AS alone_ns FROM step_cause
  WHERE has_device_work() AND cause IN ('compute', 'other kernels', 'communication') GROUP BY ALL;

-- The parts of an inference (inference_part), and the causes of the device's idle time, each with the figures of the
-- whole. If there are no parts, one row has the whole alone.
--
-- The whole: on a CPU, parts divide the inference in which the layers were recorded (recorded_ns), because recording is
-- assumed to slow everything alike. On a GPU, kernels divide the model's latency, because recording does not change
-- their durations. If the call returns before the device is done (is_early), they divide the device's time. of_ns is
-- the time that is divided, and covered_ns is the time of the parts together, which is less than their sum (parts_ns)
-- if they overlap. `share` is that of the part, and `rest` that of the rest of the time. Of kernels that run at once,
-- each has the moments that time_of_step gives to it, so that one that runs alone loses nothing to them.
CREATE OR REPLACE TEMP TABLE divided_time AS
  WITH part AS MATERIALIZED (
    SELECT p.*, coalesce(alone_ns, latency_ns) AS alone_ns
    FROM inference_part p LEFT JOIN kernel_moment USING (kernel, layer)),
  called AS MATERIALIZED (
    SELECT m.latency_ns, d.device_ns, d.span_ns, coalesce(d.returns_early AND d.device_ns > m.latency_ns, false)
      AS is_early
    FROM model_latency m LEFT JOIN model_device_time d USING (batch) WHERE m.batch = chosen_batch(2, asked_batch())),
  cause AS MATERIALIZED (
    FROM device_cause
    WHERE EXISTS (FROM part WHERE kernel IS NOT NULL) AND EXISTS (FROM called WHERE NOT is_early)
      AND fact_of('recorded_by') IS NULL),
  summed AS (
    SELECT (SELECT count(kernel) > 0 FROM part) AS is_device, (SELECT sum(latency_ns) FROM part) AS parts_ns,
      (SELECT max(duration_ns) FROM cause WHERE cause = 'busy') AS busy_ns,
      (SELECT latency_ns FROM run_latency WHERE run_id = chosen_layer_run(chosen_batch(2, asked_batch())))
        AS recorded_ns),
  timed AS (
    SELECT *, CASE WHEN is_early THEN device_ns WHEN is_device THEN latency_ns ELSE recorded_ns END AS of_ns,
      CASE WHEN is_device THEN least(parts_ns, CASE WHEN is_early THEN device_ns END, busy_ns)
           ELSE least(parts_ns, recorded_ns) END AS together_ns,
      -- Sums of the same times in another order differ in their last digits. That is no overlap.
      CASE WHEN together_ns < (1 - 1e-9) * parts_ns THEN together_ns ELSE parts_ns END AS covered_ns
    FROM called, summed),
  whole AS MATERIALIZED (
    SELECT * EXCLUDE (together_ns), 1 - covered_ns / greatest(covered_ns, of_ns) AS rest
    FROM timed)
  SELECT p.type, p.layer, p.kernel, NULL AS cause, p.latency_ns AS part_ns, p.number,
    CASE WHEN covered_ns < parts_ns THEN p.alone_ns / sum(p.alone_ns) OVER () ELSE p.latency_ns / parts_ns END
      * covered_ns / greatest(covered_ns, of_ns) AS share, whole.*
  FROM whole LEFT JOIN part p ON true
  UNION ALL
  SELECT NULL, NULL, NULL, cause, duration_ns, NULL, NULL, whole.* FROM whole, cause WHERE cause <> 'busy';
-- The kernels of an inference in which some overlap: their summed time, and the time that divided_time gives to them.
-- If none overlap, there are no rows.
CREATE OR REPLACE TEMP TABLE overlapped_part AS
  SELECT layer, kernel, part_ns, share * greatest(covered_ns, of_ns) AS alone_ns FROM divided_time
  WHERE kernel IS NOT NULL AND covered_ns < parts_ns AND part_ns > 0;
-- The share of its kernels' summed time that a layer has, by layer.
CREATE OR REPLACE TEMP VIEW overlapped_layer AS
  SELECT layer AS of_layer, sum(alone_ns) / sum(part_ns) AS part FROM overlapped_part GROUP BY layer;
