-- These tables hold the unit that repeats, and the parts of its time. They are loaded after prelude_4_layers.sql.

-- A model that was profiled repeats inferences.
INSERT INTO finding_step
  SELECT 'inference', latency_ns, 1 FROM finding_model WHERE NOT EXISTS (FROM finding_step);
CREATE OR REPLACE TEMP TABLE finding_busy AS
  SELECT coalesce(sum(time_ns), 0) AS busy_ns FROM finding_step_cause
  WHERE cause IN ('compute', 'other kernels', 'communication', 'copy') AND is_on_device();
CREATE OR REPLACE TEMP MACRO in_step(ns) AS ns * (SELECT inferences FROM finding_step);
-- The time of which layers' times are shares, as in time_by_level: on a CPU that of the inference in which they were
-- recorded, and on a GPU the model's latency, or the device's time if that is longer. Parts that overlap share the time
-- that they take together.
CREATE OR REPLACE TEMP TABLE finding_whole AS
  SELECT CASE WHEN is_gpu THEN greatest(step_ns, busy_ns) / nullif(inferences, 0) * greatest(1, coalesce(
      (SELECT sum(latency_ns) FROM finding_kernel) * inferences / (
        SELECT nullif(sum(time_ns), 0) FROM finding_step_cause
        WHERE cause IN ('compute', 'other kernels', 'communication') AND is_on_device()), 1))
    WHEN unit = 'step' THEN step_ns / nullif(inferences, 0)
    ELSE greatest((SELECT sum(self_ns) FROM finding_layer),
                  (SELECT latency_ns FROM run_latency r WHERE r.run_id = p.run_id)) END AS whole_ns
  FROM finding_step, finding_busy, finding_place p;
CREATE OR REPLACE TEMP MACRO whole_ns() AS (SELECT whole_ns FROM finding_whole);
-- Returns text like "28.8 % of the inference".
CREATE OR REPLACE TEMP MACRO whole_share(ns) AS printf('%.1f %% of the %s', pct(ns, whole_ns()), unit_name());
-- The time that layers or kernels take of the unit, by their share: a gain is never more than what they take of it.
CREATE OR REPLACE TEMP MACRO share_in_step(ns) AS ns / whole_ns() * (SELECT step_ns FROM finding_step);
CREATE OR REPLACE TEMP MACRO unit_name() AS (SELECT unit FROM finding_step);
CREATE OR REPLACE TEMP MACRO is_watched() AS unit_name() = 'step';

-- Returns what the advice to make kernels faster must add if the device waits for the host most of the time.
CREATE OR REPLACE TEMP MACRO while_host_text() AS (
  SELECT CASE WHEN is_on_device() AND waits_ns > 0.5 * step_ns
    THEN printf(' First make the host faster: no kernel runs for %.0f %% of the %s.', pct(waits_ns, step_ns), unit)
    ELSE '' END
  FROM finding_step, (
    SELECT coalesce(sum(time_ns), 0) AS waits_ns FROM finding_step_cause
    WHERE cause NOT IN ('compute', 'other kernels', 'communication')));

-- ---- The parts of its time -----------------------------------------------------------------------------------

-- Whether a layer multiplies its input with weights, by its own name or by its module's.
CREATE OR REPLACE TEMP MACRO is_projection(layer) AS regexp_matches(lower(layer),
  '(^|/)(linear|addmm|gemm|conv[a-z0-9_]*)(#[0-9]+)?$|'
  '(query|key|value|qkv|dense|proj[a-z]*|[qkvo]_proj|fc[0-9]*)(/[a-z]*(#[0-9]+)?)?$');
-- The kind of work of a kernel or an operator, by its name and its layer's name. NULL: another kind.
CREATE OR REPLACE TEMP TABLE finding_elementwise AS
  SELECT operator FROM operator_cost
  WHERE (rule = 'output'
      OR regexp_matches(lower(operator), '^(relu6?|clip|hardtanh|clamp(_m..)?|tanh|exp|sqrt|pow)_?$'))
    AND NOT regexp_matches(lower(operator), 'norm|soft_?max|group|skip|rms|rotary|cumsum');
CREATE OR REPLACE TEMP MACRO work_kind(culprit, layer) AS CASE
  WHEN culprit LIKE 'spinning in %' THEN 'spinning'
  WHEN culprit LIKE 'threads of its own%' THEN 'threads'
  WHEN culprit LIKE 'sleeping in %' THEN 'sleeping'
  WHEN regexp_matches(layer, '(^|/)(Optimizer\.step#|\w+\.step(/|$))') THEN 'optimizer'
  WHEN regexp_matches(lower(culprit),
    'nchw_?(to|2)_?nhwc|nhwc_?(to|2)_?nchw|reorder_?(input|output)|^aten::(contiguous|reshape)$') THEN 'layout'
  WHEN regexp_matches(culprit, '^aten::(to|_to_copy|clone)$') THEN 'conversion'
  WHEN regexp_matches(lower(culprit), 'index_?select|embedding|gather|scatter|index_put|indexing|aten::index$')
    THEN 'gather'
  WHEN regexp_matches(lower(culprit), 'catarray|(::|^)cat$|^concat') THEN 'concatenation'
  WHEN regexp_matches(lower(culprit), 'soft_?max') THEN 'softmax'
  WHEN regexp_matches(lower(culprit), 'flash|fmha|scaled_dot_product|sdpa') THEN 'attention'
  WHEN regexp_matches(lower(culprit), 'b?mm$|gemm|matmul|linear$|einsum') THEN 'product'
  WHEN regexp_matches(lower(culprit), 'elementwise|pointwise')
    OR operator_of(culprit) IN (SELECT operator FROM finding_elementwise) THEN 'elementwise' END;
-- The exclusive time of the unit by cause, culprit and layer. For a profiled model on a CPU, it is the layers' own
-- time. Doubtful levels are not used.
CREATE OR REPLACE TEMP TABLE finding_time AS
  WITH cause AS (
    SELECT c.*, is_on_device() AND cause IN ('compute', 'other kernels', 'communication', 'copy') AS is_busy
    FROM finding_step_cause c, finding_usable
    WHERE is_watched() OR (is_on_device() AND CASE WHEN is_busy THEN kernels_hold ELSE timeline_holds END)),
  part AS (
    SELECT c.cause, CASE WHEN r.is_read THEN coalesce(r.type, c.culprit) ELSE c.culprit END AS culprit, c.layer,
      c.place, time_ns AS ns, calls, is_busy,
      CASE WHEN r.is_read THEN 'read'
        WHEN c.cause IN ('copy', 'copy preparation', 'synchronisation') AND contains(lower(c.culprit), 'memcpy')
          AND EXISTS (FROM finding_pageable p WHERE p.layer IS NOT DISTINCT FROM c.layer) THEN 'pageable'
        WHEN c.layer IN (SELECT name FROM data_layer WHERE run_id = finding_run_id())
          THEN NULL
        ELSE work_kind(c.culprit, c.layer) END AS kind
    FROM cause c
      LEFT JOIN (SELECT *, true AS is_read FROM finding_read) r
        ON r.layer IS NOT DISTINCT FROM c.layer AND c.cause IN ('copy', 'copy preparation', 'synchronisation')
    UNION ALL
    SELECT 'compute', type, name, NULL, sum(self_ns), sum(per_inference), false, work_kind(type, name)
    FROM finding_layer, finding_usable WHERE NOT is_watched() AND NOT is_gpu AND layers_hold GROUP BY ALL)
  -- Work with a rule of its own gets a cause of its own, so that it is not reported twice. A convolution in which the
  -- framework works for a millisecond tries algorithms out. A module that torch.compile made compiles if it takes a
  -- millisecond, and so do the dispatch modes that trace it. An optimiser with many pieces is unfused. Waiting by
  -- spinning takes a processor from threads that have work. Fresh memory that a copy needs is a part of the copy.
  SELECT * REPLACE (CASE
      WHEN kind = 'read' THEN 'synchronisation'
      WHEN cause = 'allocation' AND kind IN ('conversion', 'concatenation', 'layout') THEN 'compute'
      WHEN cause = 'waiting' AND kind = 'threads' THEN 'own threads'
      WHEN cause = 'waiting' AND kind = 'spinning' THEN 'descheduled'
      WHEN cause = 'waiting' AND kind = 'sleeping' THEN 'sleeping'
      WHEN cause = 'framework' AND contains(lower(culprit), 'conv') AND ns > 1e6 * calls THEN 'autotuning'
      WHEN cause = 'host code' AND culprit = 'OptimizedModule' AND ns > 1e6 * calls THEN 'compilation'
      WHEN cause = 'host code' AND culprit = 'PythonDispatchMode'
        AND sum(CASE WHEN cause = 'compilation' THEN ns END) OVER () > ns THEN 'compilation'
      WHEN cause IN ('launch', 'framework', 'host code') AND kind = 'optimizer'
        AND sum(CASE WHEN kind = 'optimizer' THEN calls END) OVER () >= 50 THEN 'optimizer' ELSE cause END AS cause)
  FROM part;
-- The number of rows of the matrix that each layer multiplies by its weights, which is the product of the outer
-- dimensions of its first input with two or more dimensions; and the number of its weights, which are the second one.
CREATE OR REPLACE TEMP MACRO product_of(sizes) AS
  CAST(list_product(list_transform(sizes, lambda one: CAST(one AS DOUBLE))) AS BIGINT);
CREATE OR REPLACE TEMP TABLE finding_rows AS
  SELECT layer, max(product_of(matrices[1][:-2])) AS rows, max(product_of(matrices[2])) AS weights
  FROM (
    SELECT l.name AS layer, list_filter(try_cast(a.value AS BIGINT[][]), lambda one: len(one) >= 2) AS matrices
    FROM layer_site l JOIN site_attribute a USING (run_id, site_id)
    WHERE l.run_id = finding_run_id() AND a.key = 'input_shapes'
      AND work_kind(l.type, NULL) = 'product')
  WHERE len(matrices) > 0 GROUP BY layer;
-- Returns one row, or none: the time of these causes (NULL: all) and kinds (NULL: all); the culprit with the largest
-- part of it; and the culprit's layer and place, if one has a third of its time or more.
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
-- An optimiser that launches many small operations is a finding of its own, and not a part of more general ones.
CREATE OR REPLACE TEMP MACRO is_unfused() AS EXISTS (FROM finding_time WHERE cause = 'optimizer');
-- rest_of_lines sums the time of all other causes in those lines of the program that spend most of their time on these
-- causes: the host's, and of copies that a line waits for. This time disappears together with the causes.
CREATE OR REPLACE TEMP MACRO rest_of_lines(causes) AS (
  WITH line AS (
    SELECT coalesce(sum(ns) FILTER (list_contains(causes, cause)), 0) AS own_ns, sum(ns) AS ns
    FROM finding_time WHERE place IS NOT NULL AND (NOT is_busy OR cause IN ('copy', 'synchronisation')) GROUP BY place)
  SELECT coalesce(sum(ns - own_ns), 0) FROM line WHERE 2 * own_ns > ns);
CREATE OR REPLACE TEMP MACRO rest_text(ns) AS
  CASE WHEN ns > 0 THEN concat('; what else the same lines do takes ', time_text(ns)) ELSE '' END;
-- Returns text like "1.2 ms of 4.0 ms a step".
CREATE OR REPLACE TEMP MACRO step_share(ns) AS concat(time_text(ns), (
  SELECT concat(' of ', time_text(step_ns), CASE unit WHEN 'step' THEN ' a step' ELSE ' an inference' END)
  FROM finding_step));
-- Returns text like "aten::sort in layer (train.py:12)". NULL: no culprit is known by name.
CREATE OR REPLACE TEMP MACRO blame_text(culprit, layer, place) AS nullif(concat(coalesce(culprit, layer),
  CASE WHEN layer <> culprit THEN concat(' in ', layer) END,
  CASE WHEN place IS NOT NULL THEN concat(' (', place, ')') END), '');
-- Returns text like ", mostly aten::sort", or ", 38 % of it in aten::sort" if that is less than half of it.
CREATE OR REPLACE TEMP MACRO mostly_text(culprit_ns, ns, culprit, layer, place) AS coalesce(concat(
  CASE WHEN 2 * culprit_ns >= ns THEN ', mostly ' ELSE printf(', %.0f %% of it in ', 100 * culprit_ns / ns) END
  || blame_text(culprit, layer, place)), '');
