-- These tables hold the facts that several rules of findings ask for. xsp fills them once, before the rules run, for
-- the batch size that is wanted.

-- The rows of the rules: a sentence with its numbers; the level that it is about; what acting on it gains of the
-- model's latency at most; what may be done; the analysis to look at, and how to check; what causes it, by name.
CREATE OR REPLACE TEMP TABLE found(rule VARCHAR, finding VARCHAR, level VARCHAR, gain_ns DOUBLE, advice VARCHAR,
  evidence VARCHAR, "check" VARCHAR, culprit VARCHAR, layer VARCHAR);

CREATE OR REPLACE TEMP TABLE finding_batch AS SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch;
CREATE OR REPLACE TEMP TABLE finding_model AS
  SELECT batch, run_id, sorted, inferences AS n, latency_ns FROM model_latency
  WHERE batch = (SELECT batch FROM finding_batch);

-- The unit that repeats, and its length: an inference, or a step of a program that xsp watched (prelude_2_steps.sql).
-- `inferences` counts the inferences in it. Gains are gains of this unit.
CREATE OR REPLACE TEMP TABLE finding_step AS
  SELECT 'inference' AS unit, latency_ns AS step_ns, 1.0::DOUBLE AS inferences FROM finding_model;
CREATE OR REPLACE TEMP MACRO in_step(ns) AS ns * (SELECT inferences FROM finding_step);
CREATE OR REPLACE TEMP MACRO is_watched() AS (SELECT unit = 'step' FROM finding_step);

-- Nothing is concluded from times that measuring distorted or something else disturbed. The durations of kernels are
-- by the device's own clock, which recording does not slow.
CREATE OR REPLACE TEMP TABLE finding_usable AS
  WITH bad AS (
    SELECT level, kind FROM level_doubt
    WHERE kind IN ('distorted', 'disturbed') AND batch = (SELECT batch FROM finding_batch))
  SELECT NOT EXISTS (FROM bad WHERE level = 2) AS model_holds, NOT EXISTS (FROM bad WHERE level = 3) AS layers_hold,
    NOT EXISTS (FROM bad WHERE level = 6) AS timeline_holds,
    NOT EXISTS (FROM bad WHERE level = 6 AND kind = 'disturbed') AS kernels_hold;

-- ---- Layers and kernels --------------------------------------------------------------------------------------

CREATE OR REPLACE TEMP TABLE finding_place AS
  SELECT run_id, device, threads, device LIKE 'cuda%' AS is_gpu FROM measured_run
  WHERE run_id = chosen_layer_run((SELECT batch FROM finding_batch));
CREATE OR REPLACE TEMP TABLE finding_ceiling AS
  FROM pipe_ceilings([chosen_layer_run((SELECT batch FROM finding_batch))]);
CREATE OR REPLACE TEMP TABLE finding_kernel AS
  FROM kernel_facts([(SELECT batch FROM finding_batch)], 'measured', most := 200);
-- How long each layer takes where it runs: its kernels on a GPU, else its own time.
CREATE OR REPLACE TEMP TABLE finding_layer AS
  WITH layer AS MATERIALIZED (
    SELECT c.*, operator_of(type) AS operator, arithmetic AS precision
    FROM layer_roofs((SELECT batch FROM finding_batch)) c)
  SELECT l.*, CASE WHEN l.flops_in = 'outer' THEN NULL WHEN is_gpu THEN kernel_ns ELSE cost_ns END AS ns,
    counted_flops, counted_bytes, is_counted
  FROM layer l LEFT JOIN (
    SELECT coalesce(cost_layer, layer) AS name, sum(k.flops) AS counted_flops, sum(dram_bytes) AS counted_bytes,
      bool_and(counted IS NULL) AS is_counted
    FROM finding_kernel k LEFT JOIN layer outer_layer ON outer_layer.name = k.layer
    WHERE layer IS NOT NULL GROUP BY 1) USING (name);
-- The least time in which the ceilings allow it, at the highest that may apply and at the lowest: of each kernel of a
-- layer whose kernels were all counted, else of the layer by its shapes. Kernels that only serve those which multiply
-- matrices (changes of layout, sums of parts) need not be: another layout or algorithm goes without them.
CREATE OR REPLACE TEMP TABLE finding_part AS
  WITH part AS (
    SELECT f.layer, c.type, c.precision, f.latency_ns AS ns,
      CASE WHEN work = 0 AND max(work) OVER (PARTITION BY f.layer) = 2 THEN 0
           ELSE least_ns(f.flops, dram_bytes, f.peak_flops, f.peak_bytes) END AS least_ns, least_ns AS high_least_ns,
      coalesce(max_by(bound_by(f.flops, dram_bytes, f.peak_flops, f.peak_bytes), f.latency_ns) FILTER (work = 2)
        OVER (PARTITION BY f.layer), bound_by(f.flops, dram_bytes, f.peak_flops, f.peak_bytes)) AS bound,
      'layer_counted_roofline' AS evidence
    FROM (SELECT *, kernel_work(name, pipe) AS work FROM finding_kernel) f JOIN finding_layer c ON c.name = f.layer
    WHERE is_counted
    UNION ALL
    SELECT name, type, precision, ns, least_ns(flops, bytes, peak_flops, peak_high_bytes),
      high_least_ns(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes, ns),
      bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes), 'layer_roofline'
    FROM finding_layer WHERE ns > 0 AND is_counted IS NOT true)
  SELECT part.*, least_ns IS NOT NULL AND CASE WHEN is_gpu THEN u.kernels_hold ELSE u.layers_hold END AS is_known
  FROM part, finding_place, finding_usable u;

-- ---- The time of a step --------------------------------------------------------------------------------------

-- The kind of work that a kernel or an operator does, told by its name and its layer's name. NULL: another kind.
CREATE OR REPLACE TEMP TABLE finding_elementwise AS
  SELECT operator FROM operator_cost
  WHERE (rule = 'output'
      OR regexp_matches(lower(operator), '^(relu6?|clip|hardtanh|clamp(_m..)?|tanh|exp|sqrt|pow)_?$'))
    AND NOT regexp_matches(lower(operator), 'norm|soft_?max|group|skip|rms|rotary|cumsum');
CREATE OR REPLACE TEMP MACRO work_kind(culprit, layer) AS CASE
  WHEN regexp_matches(layer, '(^|/)(Optimizer\.step#|\w+\.step(/|$))') THEN 'optimizer'
  WHEN regexp_matches(lower(culprit), 'nchw_?(to|2)_?nhwc|nhwc_?(to|2)_?nchw|reorder_?(input|output)') THEN 'layout'
  WHEN regexp_matches(lower(culprit), 'index_?select|embedding|gather|scatter|index_put|indexing|aten::index$')
    THEN 'gather'
  WHEN regexp_matches(lower(culprit), 'catarray|(::|^)cat$|^concat') THEN 'concatenation'
  WHEN regexp_matches(lower(culprit), 'soft_?max') THEN 'softmax'
  WHEN regexp_matches(lower(culprit), 'flash|fmha|scaled_dot_product|sdpa') THEN 'attention'
  WHEN regexp_matches(lower(culprit), 'b?mm$|gemm|matmul|linear$|einsum') THEN 'product'
  WHEN regexp_matches(lower(culprit), 'elementwise|pointwise')
    OR operator_of(culprit) IN (SELECT operator FROM finding_elementwise) THEN 'elementwise' END;
-- The exclusive time of a step by its cause, who is to blame and in which layer: step_causes() has it of a program that
-- was watched (prelude_2_steps.sql). Of a profiled model it is the time of the kernels, or of a CPU's layers.
CREATE OR REPLACE TEMP TABLE finding_time AS
  SELECT CASE kernel_work(name, NULL) WHEN 2 THEN 'compute' ELSE 'memory' END AS cause, kernel_label(name) AS culprit,
    layer, NULL::VARCHAR AS place, sum(latency_ns) AS ns, sum(per_inference) AS calls,
    work_kind(kernel_label(name), layer) AS kind
  FROM finding_kernel, finding_usable WHERE kernels_hold GROUP BY ALL
  UNION ALL
  SELECT 'compute', type, name, NULL, sum(self_ns), sum(per_inference), work_kind(type, name)
  FROM finding_layer, finding_usable WHERE NOT is_gpu AND layers_hold GROUP BY ALL;
-- The rows of the matrix by which each layer multiplies its weights: the outer dimensions of the first of its inputs
-- that has two or more.
CREATE OR REPLACE TEMP TABLE finding_rows AS
  SELECT layer, max(CAST(list_product(list_transform(input[:-2], lambda one: CAST(one AS DOUBLE))) AS BIGINT)) AS rows
  FROM (
    SELECT l.name AS layer, list_filter(try_cast(a.value AS BIGINT[][]), lambda one: len(one) >= 2)[1] AS input
    FROM (SELECT DISTINCT run_id, site_id, name, type FROM span
          WHERE run_id = cause_run((SELECT batch FROM finding_batch)) AND level = 3) l
      JOIN site_attribute a USING (run_id, site_id)
    WHERE a.key = 'input_shapes' AND work_kind(l.type, NULL) = 'product')
  WHERE input IS NOT NULL GROUP BY layer;
-- One row, or none: the time that these causes (NULL: all) and kinds (NULL: all) take, the culprit of the most of it,
-- and the layer and the place of that, where one has a third of it or more.
CREATE OR REPLACE TEMP MACRO blamed(causes, kinds) AS TABLE
  WITH one AS (
    SELECT culprit, CASE WHEN ns >= sum(ns) OVER of_culprit / 3 THEN layer END AS layer,
      CASE WHEN ns >= sum(ns) OVER of_culprit / 3 THEN place END AS place, ns, calls,
      sum(ns) OVER of_culprit AS one_ns
    FROM finding_time
    WHERE coalesce(list_contains(causes, cause), causes IS NULL)
      AND coalesce(list_contains(kinds, kind), kinds IS NULL)
    WINDOW of_culprit AS (PARTITION BY culprit))
  SELECT sum(ns) AS ns, sum(calls) AS calls, max(one_ns) AS culprit_ns,
    first(culprit ORDER BY one_ns DESC, ns DESC, culprit, layer) AS culprit,
    first(layer ORDER BY one_ns DESC, ns DESC, culprit, layer) AS layer,
    first(place ORDER BY one_ns DESC, ns DESC, culprit, layer) AS place
  FROM one HAVING sum(ns) > 0;
CREATE OR REPLACE TEMP MACRO step_share(ns) AS concat(time_text(ns), ' of ',
  time_text((SELECT step_ns FROM finding_step)));
-- "aten::sort in layer (train.py:12)"; NULL: nobody is known by name.
CREATE OR REPLACE TEMP MACRO blame_text(culprit, layer, place) AS nullif(concat(coalesce(culprit, layer),
  CASE WHEN layer <> culprit THEN concat(' in ', layer) END,
  CASE WHEN place IS NOT NULL THEN concat(' (', place, ')') END), '');

-- ---- The device without a kernel -----------------------------------------------------------------------------

CREATE OR REPLACE TEMP TABLE finding_cause AS
  SELECT * FROM device_causes((SELECT batch FROM finding_batch), 200) WHERE EXISTS (FROM finding_kernel);
CREATE OR REPLACE TEMP TABLE finding_idle AS
  SELECT greatest(0, latency_ns - duration_ns) AS idle_ns FROM finding_model, finding_cause WHERE cause = 'busy';
-- The calls that take the host in an inference but launch nothing, with the layer that most of their time is in.
CREATE OR REPLACE TEMP TABLE finding_call AS
  WITH called AS (
    SELECT s.type, s.name, l.name AS layer, count(*) AS calls, sum(s.duration_ns) AS ns
    FROM span s JOIN measured_inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
        AND i.process = coalesce(s.process, 0)
      LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
    WHERE s.run_id = chosen_run(6, (SELECT batch FROM finding_batch)) AND s.level = 5 AND i.is_typical
      AND s.type IN ('synchronization', 'allocation', 'copy', 'memset')
    GROUP BY ALL)
  SELECT type, name, first(layer ORDER BY ns DESC, layer) AS layer,
    sum(calls) / typical AS calls, sum(ns) / typical AS ns
  FROM called, (SELECT typical FROM run_latency WHERE run_id = chosen_run(6, (SELECT batch FROM finding_batch)))
  GROUP BY type, name, typical;
-- One row: the time for which the device has no kernel for this cause.
CREATE OR REPLACE TEMP MACRO idle_for(wanted) AS TABLE
  SELECT least(duration_ns, idle_ns) AS ns,
    concat('The GPU has no kernel for ', time_text(idle_ns), ' of ', time_text(latency_ns), '; for up to ',
      time_text(least(duration_ns, idle_ns)), ' of that ') AS so_long
  FROM finding_cause, finding_idle, finding_model, finding_usable
  WHERE cause = wanted AND timeline_holds AND NOT is_watched();
CREATE OR REPLACE TEMP MACRO longest_call(wanted) AS
  (SELECT name FROM finding_call WHERE type = wanted ORDER BY ns DESC, name LIMIT 1);
