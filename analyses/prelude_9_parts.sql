-- The parts of the model's latency: types of layers, layers and kernels, and a named rest. Loaded after
-- prelude_9_device_time.sql.

-- Says how recording the layers changed the inference's time.
CREATE OR REPLACE TEMP MACRO recording_text(with_ns, without_ns) AS
  printf('an inference took %.2f %% %s while its layers were recorded',
    pct(abs(with_ns - without_ns), without_ns), CASE WHEN with_ns < without_ns THEN 'less' ELSE 'longer' END);

-- Returns the parts of an inference, and the causes of the device's idle time, each with the figures of the whole. A
-- part is a kernel by name, in the layer that launched it; on a CPU it is a layer, without the layers in it, and has no
-- kernel. `number` counts executions in an inference. If there are no parts, one row has the whole alone.
--
-- The whole: on a CPU, parts divide the inference in which the layers were recorded (recorded_ns), because recording is
-- assumed to slow everything alike. On a GPU, kernels divide the model's latency, because recording does not change
-- their durations. If the call returns before the device is done (is_early), they divide the device's time. of_ns is
-- the time that is divided, and covered_ns is the time of the parts together, which is less than their sum (parts_ns)
-- if they overlap. A part's share is its time * per_ns, and the rest of the time has the share `rest`.
CREATE OR REPLACE TEMP MACRO divided_time(wanted_batch) AS TABLE
  WITH layer AS MATERIALIZED (FROM layers(wanted_batch)),
  kernel AS MATERIALIZED (
    SELECT coalesce(layer, 'no layer') AS layer, kernel_label(name) AS kernel,
      sum(total_ns) / any_value(typical) AS latency_ns, sum(executions) / any_value(typical) AS number
    FROM launched_operation JOIN run_latency USING (run_id)
    WHERE is_kernel AND list_contains(kernel_run_ids([wanted_batch]), run_id) GROUP BY ALL),
  part AS MATERIALIZED (
    SELECT coalesce(l.type, k.layer) AS type, k.*
    FROM kernel k LEFT JOIN (SELECT name, any_value(type) AS type FROM layer GROUP BY name) l ON l.name = k.layer
    UNION ALL BY NAME
    SELECT coalesce(type, 'unknown') AS type, name AS layer, sum(self_ns) AS latency_ns,
      sum(per_inference) AS number
    FROM layer WHERE NOT EXISTS (FROM kernel) GROUP BY ALL),
  called AS MATERIALIZED (
    SELECT m.latency_ns, d.device_ns, d.span_ns, coalesce(d.returns_early AND d.device_ns > m.latency_ns, false)
      AS is_early
    FROM model_latency m LEFT JOIN model_device_times() d USING (batch) WHERE m.batch = wanted_batch),
  -- DuckDB reads no spans at all for a batch size that does not exist.
  caused AS MATERIALIZED (SELECT CASE WHEN EXISTS (FROM kernel) THEN wanted_batch ELSE -1 END AS batch),
  cause AS MATERIALIZED (
    FROM device_causes((SELECT batch FROM caused))
    WHERE EXISTS (FROM kernel) AND EXISTS (FROM called WHERE NOT is_early) AND fact_of('recorded_by') IS NULL),
  summed AS (
    SELECT (SELECT count(*) > 0 FROM kernel) AS is_device, (SELECT sum(latency_ns) FROM part) AS parts_ns,
      (SELECT max(duration_ns) FROM cause WHERE cause = 'busy') AS busy_ns,
      (SELECT latency_ns FROM run_latency WHERE run_id = (SELECT any_value(run_id) FROM layer)) AS recorded_ns),
  timed AS (
    SELECT *, CASE WHEN is_early THEN device_ns WHEN is_device THEN latency_ns ELSE recorded_ns END AS of_ns,
      CASE WHEN is_device THEN least(parts_ns, CASE WHEN is_early THEN device_ns END, busy_ns)
           ELSE least(parts_ns, recorded_ns) END AS together_ns,
      -- Sums of the same times in another order differ in their last digits. That is no overlap.
      CASE WHEN together_ns < (1 - 1e-9) * parts_ns THEN together_ns ELSE parts_ns END AS covered_ns
    FROM called, summed),
  whole AS MATERIALIZED (
    SELECT * EXCLUDE (together_ns), covered_ns / parts_ns / greatest(covered_ns, of_ns) AS per_ns,
      1 - covered_ns / greatest(covered_ns, of_ns) AS rest
    FROM timed)
  SELECT p.type, p.layer, p.kernel, NULL AS cause, p.latency_ns AS part_ns, p.number, whole.*
  FROM whole LEFT JOIN part p ON true
  UNION ALL
  SELECT NULL, NULL, NULL, cause, duration_ns, NULL, whole.* FROM whole, cause WHERE cause <> 'busy';
