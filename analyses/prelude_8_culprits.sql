-- The parts of a time, by name: means over all typical inferences, like every figure of a run. Loaded after
-- prelude_8_causes.sql.

-- The parts of an inference. A part is a kernel by name, in the layer that launched it; on a CPU it is a layer, without
-- the layers in it, and has no kernel. `number` counts executions in an inference.
CREATE OR REPLACE TEMP TABLE inference_part AS
  WITH layer AS MATERIALIZED (FROM layers(chosen_batch(2, asked_batch()))),
  kernel AS MATERIALIZED (
    SELECT coalesce(layer, 'no layer') AS layer, any_value(layer_type) AS layer_type, kernel_label(name) AS kernel,
      sum(total_ns) / any_value(typical) AS latency_ns, sum(executions) / any_value(typical) AS number
    FROM launched_operation JOIN run_latency USING (run_id)
    WHERE is_kernel AND list_contains(kernel_run_ids([chosen_batch(2, asked_batch())]), run_id) GROUP BY ALL)
  -- The layers of a graph that a framework launches are only in the runs with kernels.
  SELECT coalesce(l.type, k.layer_type, k.layer) AS type, k.* EXCLUDE (layer_type)
  FROM kernel k LEFT JOIN (SELECT name, any_value(type) AS type FROM layer GROUP BY name) l ON l.name = k.layer
  UNION ALL BY NAME
  SELECT coalesce(type, 'unknown') AS type, name AS layer, sum(self_ns) AS latency_ns,
    sum(per_inference) AS number
  FROM layer WHERE NOT EXISTS (FROM kernel) GROUP BY ALL;

-- The causes of a recorded step, each with its culprit: a kernel, a call, an operator, a module or a phase.
-- NULL: the time is in no span. `layer` is the layer that the culprit belongs to. time_ns is exclusive, and hidden_ns
-- ran underneath other work. Both are means over the steps, and all time_ns add up to the step in that run. Matrix
-- products are compute, and every other kernel is memory, because the memory's traffic bounds it in general. An
-- operator counts as a computation of the host if its site launches nothing itself and takes more than 50 us of its own
-- on average: in the periods, and in the stretch around them, which is the longest period and extends to the nearest
-- operation that ends or begins there. The work of a data loader is data, wherever it was found.
CREATE OR REPLACE TEMP TABLE recorded_cause AS
  WITH piece AS NOT MATERIALIZED (FROM period_piece),
  mean AS (
    SELECT count(DISTINCT (process, period_ns)) AS periods,
      any_value(all_ns) / sum(end_ns - start_ns) FILTER (NOT is_hidden) AS scale
    FROM piece),
  cost AS (
    SELECT process, cause, span_id, coalesce(sum(end_ns - start_ns) FILTER (NOT is_hidden), 0) AS ns,
      coalesce(sum(end_ns - start_ns) FILTER (is_hidden), 0) AS hidden_ns
    FROM piece GROUP BY ALL),
  -- The few wanted spans are found by a range before the join, because ten million spans take a second.
  found AS MATERIALIZED (
    SELECT span_id, parent_id, layer_id, level, type, name,
      CASE level WHEN 6 THEN duration_ns ELSE self_ns END AS own_ns
    FROM span WHERE run_id = cause_run(asked_batch()) AND span_id IN (SELECT span_id FROM cost)
      AND span_id BETWEEN (SELECT min(span_id) FROM cost) AND (SELECT max(span_id) FROM cost)),
  -- Operators that copy on behalf of another one have the name of the outermost operator that requests the copy.
  asked AS (
    SELECT s.span_id, s.parent_id, s.type FROM span s
    WHERE run_id = cause_run(asked_batch()) AND level = 3 AND type IN ('aten::clone', 'aten::contiguous', 'aten::to',
      'aten::_to_copy', 'aten::reshape') AND EXISTS (FROM found WHERE type = 'aten::copy_')),
  label AS MATERIALIZED (
    SELECT name, kernel_label(name) AS label FROM (SELECT DISTINCT name FROM found WHERE level = 6)),
  told AS MATERIALIZED (
    SELECT f.span_id, f.layer_id, f.own_ns,
      CASE f.level WHEN 6 THEN label WHEN 3 THEN coalesce(b.type, a.type, f.type) ELSE name END AS culprit,
      f.level = 2 OR (f.level = 3 AND is_module(f.type)) OR (f.level = 1 AND f.type = 'phase') AS is_vague
    FROM found f LEFT JOIN label USING (name)
      LEFT JOIN asked a ON a.span_id = CASE WHEN f.type = 'aten::copy_' THEN f.parent_id END
      LEFT JOIN asked b ON b.span_id = a.parent_id),
  layer AS (
    SELECT span_id AS layer_id, name AS layer
    FROM span WHERE run_id = cause_run(asked_batch()) AND span_id IN (SELECT layer_id FROM told)
      AND span_id BETWEEN (SELECT min(layer_id) FROM told) AND (SELECT max(layer_id) FROM told)),
  named AS MATERIALIZED (
    SELECT c.*, layer, culprit, own_ns, coalesce(is_vague, c.span_id IS NULL) AS is_vague
    FROM cost c LEFT JOIN told USING (span_id) LEFT JOIN layer USING (layer_id)),
  blamed AS (
    SELECT cause, culprit, layer, is_vague, sum(ns) AS ns, sum(hidden_ns) AS hidden_ns,
      count(DISTINCT span_id) AS calls
    FROM named GROUP BY ALL),
  -- The samples of the thread in a piece of each cause, and the number of other threads of the process that ran
  -- meanwhile.
  at_work AS (
    SELECT process, time_ns, count(*) AS threads, any_value(coalesce(callee, own_function)) AS work,
      any_value(native_function) FILTER (native_library LIKE '%.so%') AS works_in
    FROM sample LEFT JOIN stack_facts(cause_run(asked_batch())) f USING (stack_id)
    WHERE run_id = cause_run(asked_batch()) AND state <> 'waiting' GROUP BY ALL),
  looked AS (
    SELECT n.cause, n.culprit, n.layer, n.is_vague, s.state, s.gil, s.waits_in, f.place, f.own_function, f.callee,
      f.writes, f.compiles, f.loads, s.duration_ns, s.system_ns, s.faults, w.threads AS at_work, w.work, w.works_in,
      is_standard, standard_call,
      CASE WHEN s.state <> 'waiting' AND is_of_arithmetic(native_library) THEN native_function END AS arithmetic,
      s.state <> 'waiting' AND is_spinning(coalesce(callee, own_function)) AS spins
    FROM (FROM sample WHERE run_id = cause_run(asked_batch())) s ASOF JOIN piece p
        ON s.process = p.process AND s.thread = coalesce(p.thread, p.waiter) AND s.time_ns >= p.start_ns
      JOIN named n ON n.process = p.process AND n.cause = p.cause AND n.span_id IS NOT DISTINCT FROM p.span_id
      LEFT JOIN stack_facts(cause_run(asked_batch())) f USING (stack_id)
      LEFT JOIN at_work w ON w.process = s.process AND w.time_ns = s.time_ns
    WHERE s.time_ns < p.end_ns
      -- A thread that runs without the interpreter's lock is in compiled code. If no frame of that could be read, the
      -- sample tells nothing.
      AND NOT (s.state = 'running' AND s.gil IS NULL AND f.own_function IS NOT NULL AND f.native_library IS NULL
               AND EXISTS (FROM sample WHERE run_id = cause_run(asked_batch()) AND gil = 'held'))
      AND NOT coalesce(f.is_torn, false)
      -- If the loader of data has spans, a sample in it that is in none of them came late.
      AND NOT (coalesce(f.loads, false) AND p.cause = 'host code' AND EXISTS (FROM piece WHERE cause = 'data'))),
  seen AS (
    SELECT cause, culprit, layer, is_vague, place,
      CASE WHEN cause IN ('compute', 'framework', 'host code') AND compiles THEN 'compilation'
        WHEN cause IN ('compute', 'framework') AND is_standard THEN 'host code'
        WHEN cause <> 'host code' THEN cause
        WHEN loads THEN 'data'
        WHEN gil = 'waited' OR spins THEN 'waiting' WHEN state = 'runnable' THEN 'descheduled'
        WHEN arithmetic IS NOT NULL THEN 'compute'
        WHEN writes OR (state = 'waiting' AND is_transfer(waits_in)) THEN 'input/output'
        WHEN state = 'waiting' AND waits_in = 'futex' AND works_in IS NOT NULL THEN 'compute'
        WHEN state = 'waiting' THEN 'waiting' ELSE cause END AS seen_cause,
      CASE WHEN is_vague AND cause = 'host code' AND gil = 'waited' THEN interpreters_lock()
        WHEN is_vague AND cause = 'host code' AND spins THEN concat('spinning in ', coalesce(callee, own_function))
        WHEN cause = 'host code' AND state = 'waiting' AND waits_in = 'futex' AND works_in IS NOT NULL THEN works_in
        WHEN is_vague AND cause = 'host code' AND state = 'waiting' AND waits_in = 'futex'
            AND (at_work > 0 OR regexp_matches(callee, '(^|::|[.])(pthread_)?join([(]|$)'))
          THEN concat('threads of its own', ' in ' || work)
        WHEN cause = 'host code' AND arithmetic IS NOT NULL THEN arithmetic
        WHEN is_standard AND cause IN ('compute', 'framework', 'host code') THEN standard_call
        WHEN is_vague AND cause = 'host code' AND state = 'waiting' AND waits_in IN ('clock_nanosleep', 'nanosleep')
          THEN concat('sleeping in ', coalesce(callee, own_function, culprit))
        WHEN is_vague AND cause IN ('host code', 'data') THEN coalesce(callee, own_function, culprit)
        ELSE culprit END AS seen_culprit,
      sum(duration_ns) AS weight
    FROM looked GROUP BY ALL),
  share AS (
    SELECT *, weight / sum(weight) OVER (PARTITION BY cause, culprit, layer, is_vague) AS share FROM seen),
  told_of AS (
    SELECT coalesce(seen_cause, b.cause) AS cause,
      CASE WHEN seen_cause IS NULL THEN b.culprit ELSE seen_culprit END AS culprit, b.layer, place,
      ns * coalesce(share, 1) * scale AS time_ns, hidden_ns * coalesce(share, 1) * scale AS hidden_ns,
      calls * coalesce(share, 1) / periods AS calls
    FROM blamed b LEFT JOIN share s ON s.cause = b.cause AND s.culprit IS NOT DISTINCT FROM b.culprit
        AND s.layer IS NOT DISTINCT FROM b.layer AND s.is_vague = b.is_vague
      CROSS JOIN mean),
  -- A thread is kept off the processors regardless of its work, so the same share of all operators' time is
  -- descheduled.
  kept_off AS (
    SELECT cause, coalesce(sum(duration_ns) FILTER (state = 'runnable') / sum(duration_ns), 0) AS part
    FROM looked WHERE cause IN ('compute', 'framework') GROUP BY cause),
  -- The kernel provides memory that is touched for the first time. A page takes about a microsecond, and three in a
  -- guest. If one microsecond a page explains a quarter of the time in the kernel, that time counts as allocation.
  faulted AS (
    SELECT cause, culprit, least(1 - coalesce(any_value(part), 0), sum(system_ns) / sum(duration_ns)) AS fault_part
    FROM looked LEFT JOIN kept_off USING (cause)
    WHERE cause IN ('compute', 'framework', 'host code') AND state <> 'waiting'
    GROUP BY cause, culprit HAVING 1000 * sum(faults) >= 0.25 * sum(system_ns) AND sum(system_ns) > 0),
  divided AS (
    SELECT t.* REPLACE (time_ns * (1 - coalesce(part, 0) - coalesce(fault_part, 0)) AS time_ns)
    FROM told_of t LEFT JOIN kept_off USING (cause)
      LEFT JOIN faulted f ON f.cause = t.cause AND f.culprit IS NOT DISTINCT FROM t.culprit
    UNION ALL
    SELECT 'descheduled', culprit, layer, place, time_ns * part, 0, 0 FROM told_of JOIN kept_off USING (cause)
    WHERE part > 0
    UNION ALL
    SELECT 'allocation', t.culprit, layer, place, time_ns * fault_part, 0, 0
    FROM told_of t JOIN faulted f ON f.cause = t.cause AND f.culprit IS NOT DISTINCT FROM t.culprit),
  summed AS (
    SELECT CASE WHEN (cause IN ('host code', 'framework') OR (cause = 'compute' AND NOT on_device))
          AND (contains(culprit, 'DataLoader')
               OR layer IN (SELECT name FROM data_layer WHERE run_id = cause_run(asked_batch())))
        THEN 'data' ELSE cause END AS cause,
      culprit, layer, place, sum(time_ns) AS time_ns, sum(hidden_ns) AS hidden_ns, sum(calls) AS calls
    FROM divided, (
      SELECT EXISTS (FROM span WHERE run_id = cause_run(asked_batch()) AND level = 6 AND device IS NOT NULL)
        AS on_device)
    GROUP BY ALL),
  -- The periods of a profiled model are some of its inferences. A part of an inference has its mean time in all of them
  -- (inference_part), as everywhere, and the other causes have the rest of the mean inference.
  exact AS (
    SELECT cause, culprit, n.layer, any_value(latency_ns / number) / avg(own_ns) AS weight
    FROM named n JOIN inference_part p ON p.layer = coalesce(n.layer, 'no layer')
      AND CASE WHEN kernel IS NULL THEN p.type = coalesce(culprit, 'unknown') AND cause = 'compute'
               ELSE kernel = culprit AND cause IN ('compute', 'other kernels', 'communication') END
    WHERE fact_of('recorded_by') IS NULL GROUP BY ALL HAVING avg(own_ns) > 0),
  corrected AS (
    SELECT s.* REPLACE (time_ns * coalesce(weight / (scale * periods), 1) AS time_ns,
        hidden_ns * coalesce(weight / (scale * periods), 1) AS hidden_ns),
      weight IS NOT NULL AS is_part
    FROM summed s CROSS JOIN mean LEFT JOIN exact e ON e.cause = s.cause AND e.culprit IS NOT DISTINCT FROM s.culprit
      AND e.layer IS NOT DISTINCT FROM s.layer),
  whole AS (
    SELECT coalesce(sum(time_ns) FILTER (is_part), 0) AS parts_ns,
      coalesce(sum(time_ns) FILTER (NOT is_part), 0) AS others_ns,
      (SELECT scale * sum(end_ns - start_ns) FROM piece, mean WHERE NOT is_hidden GROUP BY scale) AS all_ns
    FROM corrected)
  SELECT cause, culprit, layer, place,
    time_ns * CASE WHEN parts_ns = 0 THEN 1 WHEN is_part AND others_ns > 0 THEN least(1, all_ns / parts_ns)
      WHEN is_part THEN all_ns / parts_ns ELSE greatest(0, all_ns - parts_ns) / others_ns END AS time_ns,
    hidden_ns, calls
  FROM corrected, whole;
