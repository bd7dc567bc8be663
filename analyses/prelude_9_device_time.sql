-- Work of a device belongs to the call that launched it, whenever it runs: loaded after prelude_8_causes.sql.
--
-- A call of a model or a layer has three times. The time on the host goes from its begin to its end there, and is its
-- latency. The time on the device is that in which any of the kernels, copies and memory sets launched in the call
-- runs; each moment counts once. The span of both goes from the first launch to the last end, of the device or of the
-- call on the host, whichever is later; it includes the time that work waited in the queue. The times on the device and
-- the spans come from the kernel run. They are means, over its typical inferences, of the sum in one, like every figure
-- of a run.

-- ---- Steps -------------------------------------------------------------------------------------------------

-- Returns the steps of a watched program: the steady ones of each process, in the run that recorded most, which
-- time_of_step uses as well. told_by: device, if the steps launch work. in_order has every step. ahead_ns is how long
-- the first operation of the middle step waited for the device. is_ahead: it waited for more than a step. Then the
-- host's time from one start to the next is not the time of a step, in any run.
CREATE OR REPLACE TEMP MACRO step_periods(wanted_batch) AS TABLE
  SELECT cause_run(wanted_batch) AS run_id, process, kind, part,
    CASE WHEN count(ahead_ns) > 0 THEN 'device' ELSE 'host' END AS told_by, count(*) AS steps,
    avg(end_ns - start_ns) AS step_ns, list(end_ns - start_ns ORDER BY start_ns) AS in_order,
    median(ahead_ns) AS ahead_ns, coalesce(median(ahead_ns) > avg(end_ns - start_ns), false) AS is_ahead
  FROM periods(wanted_batch, 1000000000) WHERE kind <> 'inference' GROUP BY process, kind, part;

-- Returns the step of the whole program, in one row; none if nothing repeats. Recording lengthens the step, so it comes
-- from the run that recorded least, with two exceptions: the host was ahead of the device, or the steps of that run
-- were shorter than the device's work. Then, and if there is only one run, it comes from the run that time_of_step
-- uses, where it takes recorded_ns. inferences: calls of the model in one step.
CREATE OR REPLACE TEMP TABLE program_step AS
  -- @if has_steps() else (run_id INTEGER, kind VARCHAR, part VARCHAR, on_device BOOLEAN, processes BIGINT,
  -- steps BIGINT, step_ns DOUBLE, recorded_ns DOUBLE, in_order BIGINT[], batch INTEGER, level INTEGER, half_ns DOUBLE,
  -- inferences DOUBLE, is_ahead BOOLEAN, is_alone BOOLEAN)
  WITH period AS MATERIALIZED (FROM periods(NULL, 1000000000) WHERE kind <> 'inference'),
  of_process AS (
    SELECT process, median(ahead_ns) > avg(end_ns - start_ns) AS is_ahead, avg(end_ns - start_ns) AS step_ns
    FROM period GROUP BY process),
  called AS (
    SELECT count(*) AS calls
    FROM (SELECT process, start_ns FROM span
          WHERE run_id = cause_run(NULL) AND level = 2 AND depth = 0 AND device IS NULL) s
      ASOF JOIN period p ON p.process = s.process AND s.start_ns >= p.host_ns
    WHERE s.start_ns < p.host_end_ns),
  recorded AS (
    SELECT cause_run(NULL) AS run_id, any_value(kind) AS kind, any_value(part) AS part,
      count(ahead_ns) > 0 AS on_device,
      count(DISTINCT process) AS processes, count(*) AS steps, avg(end_ns - start_ns) AS step_ns,
      coalesce(avg(work_ns), 0) AS work_ns,
      CASE WHEN count(DISTINCT process) = 1 THEN list(end_ns - start_ns ORDER BY start_ns) END AS in_order
    FROM period HAVING count(*) > 0),
  alone AS (
    SELECT any_value(run_id) AS run_id, any_value(level) AS level, count(*) AS steps, avg(duration_ns) AS step_ns,
      list(duration_ns ORDER BY start_ns) AS in_order
    FROM (FROM whole_step
          WHERE part = 'steady' AND is_counted AND process IN (SELECT process FROM period)
          QUALIFY level = min(level) OVER ())
    HAVING count(*) > 0),
  whole AS (
    SELECT r.*, coalesce(batch, 1) AS batch, deepest_level(levels) AS level, calls / steps AS inferences,
      (SELECT coalesce(bool_or(is_ahead), false) FROM of_process) AS is_ahead
    FROM recorded r JOIN run USING (run_id) CROSS JOIN called),
  compared AS (
    SELECT w.*, a.run_id AS alone_run_id, a.level AS alone_level, a.steps AS alone_steps, a.step_ns AS alone_ns,
      a.in_order AS alone_in_order, coalesce(NOT is_ahead AND part = 'steady' AND a.level < w.level
        AND a.step_ns BETWEEN work_ns AND w.step_ns, false) AS is_alone
    FROM whole w LEFT JOIN alone a ON true)
  SELECT CASE WHEN is_alone THEN alone_run_id ELSE run_id END AS run_id, kind, part, on_device, processes,
    CASE WHEN is_alone THEN alone_steps ELSE steps END AS steps,
    CASE WHEN is_alone THEN alone_ns ELSE step_ns END AS step_ns, step_ns AS recorded_ns,
    CASE WHEN NOT is_alone THEN in_order WHEN processes = 1 THEN alone_in_order END AS in_order, batch,
    CASE WHEN is_alone THEN alone_level ELSE level END AS level,
    mean_half_width(CASE WHEN NOT is_alone THEN in_order WHEN processes = 1 THEN alone_in_order END) AS half_ns,
    inferences, is_ahead, is_alone
  FROM compared;

-- Returns the time that the host spends in each phase of a training step. `other` is the rest of the step, so that the
-- phases add up to `step`, which is that of program_step. These are means over the steps of all processes together,
-- in the run of program_step. If that run recorded no model, the shares come from the run that time_of_step uses.
-- Returns no rows if no optimiser was recorded.
CREATE OR REPLACE TEMP MACRO training_host_phases() AS TABLE
  WITH phase_of AS (
    SELECT run_id, site_id, any_value(value) AS phase FROM site_attribute WHERE key = 'phase' GROUP BY ALL),
  program AS MATERIALIZED (
    SELECT step_ns, is_alone AND level >= 2 AS is_alone,
      CASE WHEN is_alone AND level >= 2 THEN run_id ELSE cause_run(NULL) END AS run_id
    FROM program_step WHERE kind IN ('optimizer', 'mark')),
  -- Calls of a model within another phase, such as those for an optimiser's loss, belong to that phase.
  stage AS (
    SELECT s.process, s.start_ns, s.duration_ns, CASE WHEN s.level = 2 THEN 'forward' ELSE p.phase END AS phase
    FROM span s LEFT JOIN phase_of p USING (run_id, site_id)
    WHERE s.run_id = (SELECT run_id FROM program) AND NOT s.is_open
      AND ((s.level = 2 AND s.depth = 0) OR (s.level = 1 AND s.type = 'phase' AND p.phase <> 'gc'))
      AND NOT EXISTS (SELECT 1 FROM span o WHERE o.run_id = s.run_id AND o.span_id = s.parent_id AND o.type = 'phase')),
  period AS MATERIALIZED (
    SELECT process, host_ns, host_end_ns, end_ns - start_ns AS step_ns
    FROM periods(NULL, 1000000000)
    WHERE EXISTS (FROM program WHERE NOT is_alone)
      AND EXISTS (SELECT 1 FROM site_attribute WHERE key = 'phase' AND value = 'optimizer')
    UNION ALL
    SELECT s.process, s.start_ns, s.end_ns, s.duration_ns
    FROM whole_step s JOIN program p USING (run_id)
    WHERE p.is_alone AND s.part = 'steady' AND is_counted
      AND EXISTS (SELECT 1 FROM site_attribute WHERE key = 'phase' AND value = 'optimizer')),
  spent AS (
    SELECT s.phase, count(*) AS calls, sum(s.duration_ns) AS total_ns
    FROM stage s ASOF JOIN period t ON s.process = t.process AND s.start_ns >= t.host_ns
    WHERE s.start_ns < t.host_end_ns GROUP BY s.phase),
  whole AS MATERIALIZED (
    SELECT count(*) AS steps, any_value(program.step_ns) AS step_ns,
      any_value(program.step_ns) / avg(period.step_ns) AS scale
    FROM period, program HAVING count(*) > 0),
  line AS (
    SELECT phase, steps, coalesce(calls, 0) / steps AS calls_per_step, scale * coalesce(total_ns, 0) / steps AS time_ns
    FROM (SELECT unnest(['data', 'forward', 'backward', 'optimizer']) AS phase) LEFT JOIN spent USING (phase), whole)
  FROM line
  UNION ALL
  SELECT 'other', steps, 1, step_ns - (SELECT sum(time_ns) FROM line) FROM whole
  UNION ALL
  SELECT 'step', steps, 1, step_ns FROM whole;

-- ---- Causes ------------------------------------------------------------------------------------------------

-- The causes of program_step, or of an inference as long as the model's latency. They add up to it, with the
-- shares of the run that recorded most (recorded_cause). Without a device, recording is taken to slow everything
-- alike, as in time_by_level. With a device, its own clock gives its working time. Recording slows launching and the
-- framework, so its cost is taken off these two, down to a fifth of them, and the other idle causes fill the rest of
-- the step. If the device worked for longer than a step takes, a step's causes have their shares of the step, but an
-- inference stays as the run recorded it.
CREATE OR REPLACE TEMP TABLE step_cause AS
  WITH cause AS MATERIALIZED (
    SELECT *, on_device AND cause IN ('compute', 'other kernels', 'communication', 'copy') AS is_busy,
      cause IN ('launch', 'framework') AS is_launching
    FROM recorded_cause, (
      SELECT EXISTS (FROM span WHERE run_id = cause_run(asked_batch()) AND level = 6 AND device IS NOT NULL)
        AS on_device)),
  unit AS (
    SELECT step_ns, true AS is_step FROM program_step
    UNION ALL
    SELECT latency_ns, false FROM model_latency
    WHERE batch = chosen_batch(2, asked_batch()) AND fact_of('recorded_by') IS NULL),
  part AS (
    SELECT coalesce(sum(time_ns) FILTER (is_launching), 0) AS launching_ns,
      coalesce(sum(time_ns) FILTER (is_busy), 0) AS busy_ns,
      coalesce(sum(time_ns) FILTER (NOT is_launching AND NOT is_busy), 0) AS other_ns, sum(time_ns) AS recorded_ns
    FROM cause),
  whole AS (
    SELECT part.*, busy_ns = 0 OR u.step_ns < busy_ns OR launching_ns + other_ns = 0 AS is_alike,
      CASE WHEN u.step_ns >= busy_ns AND launching_ns + other_ns > 0 OR is_step THEN u.step_ns ELSE recorded_ns END
        AS step_ns
    FROM part LEFT JOIN unit u ON true),
  kept AS (
    SELECT *, step_ns - busy_ns AS idle_ns, CASE WHEN other_ns = 0 THEN step_ns - busy_ns
      ELSE least(step_ns - busy_ns, greatest(0.2 * launching_ns, launching_ns - (recorded_ns - step_ns))) END AS kept_ns
    FROM whole)
  SELECT cause, culprit, layer, place,
    time_ns * CASE WHEN is_alike THEN step_ns / recorded_ns WHEN is_busy THEN 1
                   WHEN is_launching THEN coalesce(kept_ns / nullif(launching_ns, 0), 0)
                   ELSE coalesce((idle_ns - kept_ns) / nullif(other_ns, 0), 0) END AS time_ns, hidden_ns, calls
  FROM cause, kept;
-- The device's part of these: busy while it runs any kernel, else the cause of the moment.
CREATE OR REPLACE TEMP TABLE device_cause AS
  -- @if has_kernel_run() else (cause VARCHAR, duration_ns DOUBLE)
  SELECT CASE WHEN cause IN ('compute', 'other kernels', 'communication') THEN 'busy' ELSE cause END AS cause,
    sum(time_ns) AS duration_ns
  FROM step_cause WHERE chosen_run(6, asked_batch()) IS NOT NULL
  GROUP BY ALL HAVING sum(time_ns) > 0;

-- ---- Models ------------------------------------------------------------------------------------------------

-- The inferences of the kernel runs from which times on the device come: the typical ones, or, of more than a thousand,
-- about so many of them. They are chosen by a hash, so the choice is the same each time.
CREATE OR REPLACE TEMP TABLE seen_inference AS
  SELECT i.run_id, i.batch, i.process, i.iteration, i.start_ns, i.start_ns + i.duration_ns AS end_ns
  FROM measured_inference i JOIN run_latency r USING (run_id)
  WHERE i.is_typical AND list_contains(kernel_run_ids(kernel_batches()), run_id)
    AND hash(i.iteration) % CAST(ceil(r.typical / 1000) AS UBIGINT) = 0;
-- The operations of these inferences. is_alone: no other operation of its process and inference runs at the same time,
-- so that all of its time counts whatever else is counted with it. Only the others, usually few, need be sorted. Each
-- operation stands for `weight` of those of its site and layer in all typical inferences, so that their times add up to
-- the time of all.
CREATE OR REPLACE TEMP TABLE seen_work AS
  WITH own AS NOT MATERIALIZED (
    SELECT run_id, coalesce(process, 0) AS process, iteration, level, type, device, span_id, site_id, layer_id,
      correlation_id, start_ns, start_ns + duration_ns AS end_ns
    FROM span SEMI JOIN (SELECT DISTINCT run_id FROM seen_inference) USING (run_id) WHERE NOT is_open),
  seen AS NOT MATERIALIZED (FROM own SEMI JOIN seen_inference USING (run_id, process, iteration)),
  operation AS (
    SELECT *, coalesce(max(end_ns) OVER (in_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) <= start_ns
      AND lead(start_ns, 1, end_ns) OVER in_order >= end_ns, false) AS is_alone
    FROM seen WHERE level = 6 AND device IS NOT NULL AND end_ns > start_ns
    WINDOW in_order AS (PARTITION BY run_id, process ORDER BY start_ns)),
  placed AS (
    SELECT o.run_id, o.process, o.iteration, o.span_id, o.type, o.layer_id, o.site_id,
      o.correlation_id, coalesce(l.site_id, -1) AS layer_site, o.start_ns, o.end_ns, is_alone,
      sum(o.end_ns - o.start_ns) OVER (PARTITION BY o.run_id, o.site_id, coalesce(l.site_id, -1)) AS seen_ns
    FROM operation o
      LEFT JOIN (FROM seen WHERE level = 3) l ON l.run_id = o.run_id AND l.span_id = o.layer_id),
  total AS (
    SELECT run_id, site_id, coalesce(layer_site, -1) AS layer_site, sum(total_ns) AS total_ns
    FROM launched_operation WHERE on_device GROUP BY ALL)
  SELECT p.* EXCLUDE (seen_ns), total_ns / seen_ns AS weight
  FROM placed p JOIN total USING (run_id, site_id, layer_site);
-- The same with the start of the call that launched each. An operation has the iteration of this call.
CREATE OR REPLACE TEMP TABLE seen_operation AS
  WITH called AS NOT MATERIALIZED (
    SELECT run_id, coalesce(process, 0) AS process, iteration, correlation_id, start_ns
    FROM span SEMI JOIN (SELECT DISTINCT run_id FROM seen_inference) USING (run_id)
    WHERE level = 5 AND correlation_id IS NOT NULL AND NOT is_open),
  call AS (
    SELECT run_id, process, correlation_id, min(start_ns) AS start_ns
    FROM called SEMI JOIN seen_inference USING (run_id, process, iteration) GROUP BY ALL)
  SELECT w.*, coalesce(c.start_ns, w.start_ns) AS call_ns
  FROM seen_work w LEFT JOIN call c USING (run_id, process, correlation_id);
-- The time of the operations of which none is in these inferences, by layer.
CREATE OR REPLACE TEMP VIEW unseen_work AS
  SELECT run_id, layer, coalesce(layer_type, 'unknown') AS layer_type, sum(total_ns) AS total_ns
  FROM launched_operation l
  WHERE on_device AND NOT EXISTS (SELECT 1 FROM seen_work s
    WHERE s.run_id = l.run_id AND s.site_id = l.site_id AND s.layer_site = coalesce(l.layer_site, -1))
  GROUP BY ALL HAVING sum(total_ns) > 0;

-- The kernels among these operations, with their names and layers.
CREATE OR REPLACE TEMP VIEW seen_kernel AS
  SELECT o.* EXCLUDE (layer_site), l.layer_site, l.name, l.layer
  FROM seen_work o JOIN launched_operation l ON l.run_id = o.run_id AND l.site_id = o.site_id
    AND coalesce(l.layer_site, -1) = o.layer_site
  WHERE is_kernel(o.type);
-- Returns the part of a kernel's time in which another kernel of its `part` of the inference runs that began before.
CREATE OR REPLACE TEMP MACRO hidden_ns(part, run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS
  CASE WHEN is_alone THEN 0 ELSE greatest(0, least(end_ns, coalesce(max(end_ns) OVER (
    PARTITION BY part, run_id, process, iteration, is_alone ORDER BY start_ns, span_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns)) - start_ns) END;
-- Returns the part of some kernels' summed time in which any of them runs: below 1 if they overlap.
CREATE OR REPLACE TEMP MACRO cover_of(hidden_ns, start_ns, end_ns, weight) AS
  1 - coalesce(sum(weight * hidden_ns), 0) / sum(weight * (end_ns - start_ns));
-- This part for all kernels of a run; and, in the kernel run, for the kernels of a layer, for those of the layers whose
-- flops are counted in one, and for those of a name. Work is done in this time, so a rate is a rate over it: a single
-- kernel's is over its own duration, and that of kernels that run at once is what they do together.
CREATE OR REPLACE TEMP VIEW kernel_cover AS
  SELECT run_id, cover_of(hidden_ns, start_ns, end_ns, weight) AS cover FROM (
    SELECT *, hidden_ns(0, run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS hidden_ns
    FROM seen_kernel)
  GROUP BY run_id;
CREATE OR REPLACE TEMP VIEW layer_cover AS
  SELECT layer, cover_of(hidden_ns, start_ns, end_ns, weight) AS cover FROM (
    SELECT *, hidden_ns(layer, run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS hidden_ns
    FROM seen_kernel WHERE run_id = chosen_run(6, asked_batch()))
  GROUP BY layer;
CREATE OR REPLACE TEMP VIEW cost_cover AS
  SELECT cost_layer, cover_of(hidden_ns, start_ns, end_ns, weight) AS cover FROM (
    SELECT *, hidden_ns(cost_layer, run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS hidden_ns
    FROM (
      SELECT k.*, coalesce(r.cost_layer, k.layer) AS cost_layer
      FROM seen_kernel k
        LEFT JOIN (SELECT name, any_value(cost_layer) AS cost_layer FROM layer_cost GROUP BY name) r ON r.name = k.layer
      WHERE run_id = chosen_run(6, asked_batch())))
  GROUP BY cost_layer;
CREATE OR REPLACE TEMP VIEW name_cover AS
  SELECT name, cover_of(hidden_ns, start_ns, end_ns, weight) AS cover FROM (
    SELECT *, hidden_ns(name, run_id, process, iteration, is_alone, span_id, start_ns, end_ns) AS hidden_ns
    FROM seen_kernel WHERE run_id = chosen_run(6, asked_batch()))
  GROUP BY name;

-- The times of the model's calls by batch size, if a device ran. returns_early: most calls ended on the host
-- before the device had done their work, so the latency alone is not the model's time.
CREATE OR REPLACE TEMP TABLE model_device_time AS
  -- @if has_device_work() else (batch INTEGER, run_id INTEGER, host_ns DOUBLE, device_ns DOUBLE, span_ns DOUBLE,
  -- returns_early BOOLEAN)
  WITH shared AS (
    SELECT run_id, process, iteration, weight, end_ns, greatest(start_ns, max(end_ns) OVER (
      PARTITION BY run_id, process, iteration ORDER BY start_ns, span_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS from_ns
    FROM seen_operation WHERE NOT is_alone),
  inference AS (
    SELECT run_id, process, iteration, sum(device_ns) AS device_ns, min(call_ns) AS first_ns, max(end_ns) AS last_ns
    FROM (
      SELECT run_id, process, iteration, CASE WHEN is_alone THEN weight * (end_ns - start_ns) ELSE 0 END AS device_ns,
        call_ns, end_ns FROM seen_operation
      UNION ALL
      SELECT run_id, process, iteration, weight * greatest(end_ns - from_ns, 0), NULL, NULL FROM shared)
    GROUP BY ALL)
  SELECT i.batch, i.run_id, any_value(r.latency_ns) AS host_ns,
    (sum(device_ns) + coalesce((SELECT sum(total_ns) FROM unseen_work u WHERE u.run_id = i.run_id), 0))
      / any_value(r.typical) AS device_ns,
    sum(greatest(last_ns, i.end_ns) - first_ns) / count(*) AS span_ns,
    2 * count(*) FILTER (last_ns > i.end_ns) > count(*) AS returns_early
  FROM seen_inference i LEFT JOIN inference USING (run_id, process, iteration) JOIN run_latency r USING (run_id)
  GROUP BY i.batch, i.run_id HAVING count(device_ns) > 0;

-- The latency of each batch size with the times on the device. step_ns is the model's time if the call alone
-- does not show it: because the program trains, or marks its steps; because the call returns before the device is done;
-- or because the program's steps contain no call, as with a replayed CUDA graph. `headline` has that in a sentence;
-- empty: the latency is the whole time.
CREATE OR REPLACE TEMP TABLE model_time AS
  SELECT m.batch, d.host_ns, d.device_ns, d.span_ns, s.step_ns, s.half_ns, s.steps, s.in_order,
    s.inferences AS inferences_in_step,
    CASE WHEN s.step_ns IS NOT NULL THEN concat('one step every ', time_text(s.step_ns), ', ', rate_text(s.step_ns),
        ' a second', CASE WHEN s.inferences = 0 THEN NULL
          WHEN d.returns_early THEN concat('; the call itself returns after ', time_text(d.host_ns))
          ELSE concat('; the call takes ', time_text(m.latency_ns)) END)
      WHEN d.returns_early THEN concat('the call returns after ', time_text(d.host_ns), ', the device is done ',
        time_text(d.span_ns), ' after the first launch; no step repeats') END AS headline
  FROM model_latency m LEFT JOIN model_device_time d USING (batch)
    LEFT JOIN program_step s ON s.batch = m.batch AND (s.kind IN ('optimizer', 'mark')
      OR (s.on_device AND (d.returns_early OR s.inferences = 0)));

-- Uses the step if that is the model's time. NULL: the steps do not call the model.
CREATE OR REPLACE TEMP MACRO inferences_per_s(latency_ns, step_ns, inferences_in_step) AS
  CASE WHEN step_ns IS NULL THEN 1e9 / latency_ns ELSE 1e9 * nullif(inferences_in_step, 0) / step_ns END;

-- ---- Layers ------------------------------------------------------------------------------------------------

-- Returns one number for one inference of a process.
CREATE OR REPLACE TEMP MACRO inference_key(process, iteration) AS CAST(iteration AS BIGINT) * 65536 + process % 65536;

-- The device's time for the layers, if a device ran: means over the typical inferences of the kernel run. `of`
-- is the subject: a layer, with the layers in it; own: a layer without them; type: the layers of a type without those
-- in them; all layers. The span of several executions of a layer is their sum. The span of a type, or of all layers,
-- goes from the first launch to the last end in an inference. A layer that launched nothing has no span. Layers of a
-- replayed graph have no launch of their own, so the start of their first kernel is used.
CREATE OR REPLACE TEMP TABLE layer_device_time AS
  -- @if has_device_work() else (of VARCHAR, name VARCHAR, per_inference DOUBLE, device_ns DOUBLE, span_ns DOUBLE)
  WITH RECURSIVE whole AS (
    SELECT run_id, typical, (SELECT count(*) FROM seen_inference i WHERE i.run_id = r.run_id) AS seen
    FROM run_latency r WHERE run_id = chosen_run(6, asked_batch())),
  layer AS MATERIALIZED (
    SELECT s.span_id, s.parent_id, s.layer_id, inference_key(i.process, i.iteration) AS inference, s.name,
      coalesce(s.type, 'unknown') AS type, s.device IS NOT NULL AS on_device, s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN seen_inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
      AND i.process = coalesce(s.process, 0)
    WHERE s.run_id = chosen_run(6, asked_batch()) AND s.level = 3 AND NOT s.is_open),
  -- The nearest layer around each layer, with any other spans in between.
  outer_of AS MATERIALIZED (
    SELECT l.span_id, p.layer_id AS outer_id FROM layer l
      JOIN (SELECT span_id, layer_id FROM span WHERE run_id = chosen_run(6, asked_batch())
              AND span_id IN (SELECT parent_id FROM layer)) p ON p.span_id = l.parent_id
    WHERE p.layer_id IS NOT NULL),
  -- The layers that have others in them: the others, and themselves.
  inner_of AS (
    SELECT DISTINCT outer_id AS around_id, outer_id AS span_id FROM outer_of
    UNION ALL
    SELECT outer_id, span_id FROM outer_of
    UNION ALL
    SELECT o.outer_id, a.span_id FROM inner_of a JOIN outer_of o ON o.span_id = a.around_id
    WHERE a.span_id <> a.around_id),
  work AS MATERIALIZED (
    FROM seen_operation WHERE run_id = chosen_run(6, asked_batch()) AND layer_id IS NOT NULL),
  own AS MATERIALIZED (
    SELECT l.span_id, l.name, l.type, l.inference, device_ns, w.end_ns AS worked_ns,
      CASE WHEN l.on_device THEN w.start_ns ELSE w.call_ns END AS call_ns,
      CASE WHEN l.on_device THEN w.end_ns ELSE greatest(w.end_ns, l.end_ns) END AS end_ns
    FROM layer l JOIN (
      SELECT layer_id, sum(CASE WHEN is_alone THEN weight * (end_ns - start_ns) ELSE 0 END) AS device_ns,
        min(start_ns) AS start_ns, min(call_ns) AS call_ns, max(end_ns) AS end_ns
      FROM work GROUP BY layer_id) w ON w.layer_id = l.span_id),
  shared AS MATERIALIZED (
    SELECT w.layer_id, w.span_id, w.start_ns, w.end_ns, w.weight, l.name, l.type, l.inference
    FROM (FROM work WHERE NOT is_alone) w JOIN layer l ON l.span_id = w.layer_id),
  member AS (
    SELECT 'own' AS of, name, layer_id AS execution, span_id, start_ns, end_ns, weight FROM shared
    UNION ALL
    SELECT 'layer', name, layer_id, span_id, start_ns, end_ns, weight FROM shared
    WHERE layer_id NOT IN (SELECT outer_id FROM outer_of)
    UNION ALL
    SELECT 'layer', l.name, i.around_id, s.span_id, s.start_ns, s.end_ns, s.weight
    FROM shared s JOIN inner_of i ON i.span_id = s.layer_id JOIN layer l ON l.span_id = i.around_id
    UNION ALL
    SELECT 'type', type, inference, span_id, start_ns, end_ns, weight FROM shared
    UNION ALL
    SELECT 'all layers', NULL, inference, span_id, start_ns, end_ns, weight FROM shared),
  covered AS (
    SELECT of, name, weight, end_ns, greatest(start_ns, max(end_ns) OVER (PARTITION BY of, name, execution
      ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS from_ns
    FROM member),
  unseen AS (FROM unseen_work WHERE run_id = chosen_run(6, asked_batch()) AND layer IS NOT NULL),
  execution AS (
    SELECT 'own' AS of, name, device_ns, end_ns - call_ns AS span_ns FROM own
    UNION ALL
    SELECT 'layer', name, device_ns, end_ns - call_ns FROM own WHERE span_id NOT IN (SELECT outer_id FROM outer_of)
    UNION ALL
    SELECT 'layer', any_value(l.name), sum(device_ns),
      max(CASE WHEN l.on_device THEN worked_ns ELSE greatest(worked_ns, l.end_ns) END) - min(call_ns)
    FROM own o JOIN inner_of i ON i.span_id = o.span_id JOIN layer l ON l.span_id = i.around_id GROUP BY i.around_id
    UNION ALL
    SELECT 'type', type, sum(device_ns), max(end_ns) - min(call_ns) FROM own GROUP BY type, inference
    UNION ALL
    SELECT 'all layers', NULL, sum(device_ns), max(end_ns) - min(call_ns) FROM own GROUP BY inference
    UNION ALL
    SELECT of, name, weight * greatest(end_ns - from_ns, 0), 0 FROM covered
    UNION ALL
    SELECT unnest(['own', 'layer']), layer, total_ns, 0 FROM unseen
    UNION ALL
    SELECT 'type', layer_type, total_ns, 0 FROM unseen
    UNION ALL
    SELECT 'all layers', NULL, total_ns, 0 FROM unseen),
  launched AS (
    SELECT of, name, sum(device_ns) / any_value(typical) AS device_ns, sum(span_ns) / any_value(seen) AS span_ns
    FROM execution, whole GROUP BY of, name),
  executed AS (
    SELECT 'layer' AS of, name, count(*) AS executions FROM layer GROUP BY name
    UNION ALL SELECT 'own', name, count(*) FROM layer GROUP BY name
    UNION ALL SELECT 'type', type, count(*) FROM layer GROUP BY type
    UNION ALL SELECT 'all layers', NULL, count(*) FROM layer HAVING count(*) > 0)
  SELECT s.of, s.name, s.executions / seen AS per_inference, coalesce(l.device_ns, 0) AS device_ns, l.span_ns
  FROM executed s LEFT JOIN launched l ON l.of = s.of AND l.name IS NOT DISTINCT FROM s.name, whole
  WHERE EXISTS (FROM launched);
