-- What the time of a step is made of: each nanosecond of a period has one cause. Loaded after the other preludes.
--
-- A period goes from one start of what the program repeats to the next (periods). At each moment of it the device
-- computes, else communicates, else copies, else it is idle; what runs underneath is hidden. An idle gap [a, b) ends with
-- an operation, which a thread launched with a call [c, d):
--   * d <= a: it was queued; the gap is the device's own (it waits for another stream, or is slow to begin);
--   * else the queue had run dry. [max(a, c), b) is that call's: launch, or the preparation of a copy. Before it, if the
--     thread stood in a blocking call [s, e) at a, the first e - s of the gap are that call's: so much earlier the next
--     work would have been launched without it. The rest is what the thread did, moment by moment.
-- In a program without a device it is what the thread of the step did. Every moment is in one piece, and the pieces of a
-- period add up to it to the nanosecond.

-- The run that knows most of what a step is made of: the one that recorded the device, else the layers, else the model.
CREATE OR REPLACE TEMP MACRO cause_run(wanted_batch) AS coalesce(
  chosen_run(6, wanted_batch), chosen_layer_run(wanted_batch), chosen_run(2, wanted_batch),
  (SELECT max_by(run_id, (deepest_level(levels), run_id)) FROM run
   WHERE status <> 'failed' AND NOT has_counters(counters)));

-- The steps of one run that tell what a step is made of: the typical steady ones; at most so many, from the middle of
-- the run. Of an evaluation that `xsp profile` made they are its inferences; what it does between them is not the
-- model's.
CREATE OR REPLACE TEMP MACRO periods(wanted_batch, how_many) AS TABLE
  WITH step AS MATERIALIZED (
    SELECT process, thread, kind, start_ns, end_ns FROM program_steps(true)
    WHERE run_id = cause_run(wanted_batch) AND is_typical AND fact_of('recorded_by') IS NOT NULL
    QUALIFY list_position(['steady', 'warm-up', 'first'], part)
      = min(list_position(['steady', 'warm-up', 'first'], part)) OVER (PARTITION BY process)
    UNION ALL
    SELECT i.process, s.thread, 'inference', i.start_ns, i.start_ns + i.duration_ns
    FROM measured_inference i JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration
      AND coalesce(s.process, 0) = i.process AND s.level = 2 AND s.depth = 0 AND s.start_ns = i.start_ns
    WHERE i.run_id = cause_run(wanted_batch) AND is_typical AND fact_of('recorded_by') IS NULL),
  placed AS (
    SELECT *, row_number() OVER (PARTITION BY process ORDER BY start_ns) - 1 AS place,
      count(*) OVER (PARTITION BY process) AS n
    FROM step)
  SELECT coalesce(process, 0) AS process, thread, kind, start_ns, end_ns FROM placed
  WHERE place >= (n - how_many) // 2 AND place < (n - how_many) // 2 + how_many OR n <= how_many;

CREATE OR REPLACE TEMP MACRO is_communication(name) AS name ILIKE 'nccl%';
-- What the innermost span of a thread is doing: its cause, where the device is idle, or where there is none.
CREATE OR REPLACE TEMP MACRO host_cause(level, type, name, phase, on_device, in_python, is_module) AS CASE
  WHEN level IS NULL THEN 'host code'
  WHEN level = 5 THEN CASE
    WHEN type IN ('launch', 'graph_launch', 'memset') THEN 'launch' WHEN type = 'copy' THEN 'copy preparation'
    WHEN type = 'synchronization' THEN 'synchronisation' WHEN type = 'allocation' THEN 'allocation'
    WHEN type = 'overhead' THEN 'recording' ELSE 'framework' END
  WHEN level = 1 AND phase = 'data' THEN 'data'
  WHEN level = 1 AND phase = 'backward' THEN 'framework'
  WHEN level = 1 OR (in_python AND (level = 2 OR is_module)) THEN 'host code'
  WHEN on_device OR level = 2 THEN 'framework'
  ELSE 'compute' END;

-- Every piece of every period: [start_ns, end_ns) has one cause. `span_id` is the operation of the device that runs, or
-- the innermost span of the thread that the time is told of (NULL: it is in none). `thread` is that thread; NULL: the
-- time is the device's. Pieces of the device that run underneath others have cause 'hidden'.
CREATE OR REPLACE TEMP MACRO pieces(wanted_batch, how_many) AS TABLE
  WITH period AS MATERIALIZED (FROM periods(wanted_batch, how_many)),
  stretch AS (
    SELECT process, min_by(thread, start_ns) AS thread, min(start_ns) - max(end_ns - start_ns) AS from_ns,
      max(end_ns) + max(end_ns - start_ns) AS until_ns
    FROM period GROUP BY process),
  near AS MATERIALIZED (
    SELECT s.span_id, s.parent_id, w.process, s.thread, s.level, s.type, s.name, s.device, s.correlation_id, s.start_ns,
      s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN stretch w ON coalesce(s.process, 0) = w.process
    WHERE s.run_id = cause_run(wanted_batch) AND NOT s.is_open AND s.duration_ns > 0
      AND s.start_ns < until_ns AND s.start_ns + s.duration_ns > from_ns
      AND coalesce(s.type, '') NOT IN ('step', 'process')),

  -- The device: of each class the pieces that are not under an earlier one's, then the highest class at each moment.
  operation AS MATERIALIZED (
    SELECT *, CASE WHEN NOT is_kernel(type) THEN 3 WHEN is_communication(name) THEN 2 ELSE 1 END AS class
    FROM near WHERE level = 6 AND device IS NOT NULL),
  alone AS (
    SELECT process, class, span_id, end_ns, greatest(start_ns, coalesce(max(end_ns) OVER (
      PARTITION BY process, class ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
      start_ns)) AS start_ns
    FROM operation),
  device_edge AS (
    SELECT process, start_ns AS at_ns, class, span_id, end_ns FROM alone WHERE end_ns > start_ns
    UNION ALL SELECT process, end_ns, 0, NULL, NULL FROM alone WHERE end_ns > start_ns),
  device_moment AS (
    SELECT process, at_ns, max(CASE WHEN class = 1 THEN span_id END) AS span_1, max(CASE WHEN class = 1 THEN end_ns END) AS end_1,
      max(CASE WHEN class = 2 THEN span_id END) AS span_2, max(CASE WHEN class = 2 THEN end_ns END) AS end_2,
      max(CASE WHEN class = 3 THEN span_id END) AS span_3, max(CASE WHEN class = 3 THEN end_ns END) AS end_3
    FROM device_edge GROUP BY ALL),
  device_state AS (
    SELECT process, at_ns AS start_ns, lead(at_ns) OVER in_order AS end_ns,
      last_value(span_1 IGNORE NULLS) OVER in_order AS span_1, last_value(end_1 IGNORE NULLS) OVER in_order AS end_1,
      last_value(span_2 IGNORE NULLS) OVER in_order AS span_2, last_value(end_2 IGNORE NULLS) OVER in_order AS end_2,
      last_value(span_3 IGNORE NULLS) OVER in_order AS span_3, last_value(end_3 IGNORE NULLS) OVER in_order AS end_3
    FROM device_moment WINDOW in_order AS (PARTITION BY process ORDER BY at_ns)),
  running AS MATERIALIZED (
    SELECT process, start_ns, end_ns, CASE WHEN end_1 > start_ns THEN span_1 END AS span_1,
      CASE WHEN end_2 > start_ns THEN span_2 END AS span_2, CASE WHEN end_3 > start_ns THEN span_3 END AS span_3
    FROM device_state),
  busy AS (
    SELECT process, start_ns, end_ns, coalesce(span_1, span_2, span_3) AS span_id, false AS is_hidden, 0 AS class
    FROM running
    WHERE coalesce(span_1, span_2, span_3) IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_2, true, 2 FROM running WHERE span_1 IS NOT NULL AND span_2 IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_3, true, 3 FROM running
    WHERE coalesce(span_1, span_2) IS NOT NULL AND span_3 IS NOT NULL),

  -- The gaps, each with the call that launched the operation at its end. The last one of a process has none.
  covered AS (
    SELECT process, start_ns, correlation_id, max(end_ns) OVER (
      PARTITION BY process ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM operation
    UNION ALL
    SELECT w.process, until_ns, NULL,
      (SELECT max(o.end_ns) FROM operation o WHERE o.process = w.process) FROM stretch w),
  launch AS (
    SELECT process, correlation_id, min_by(thread, start_ns) AS thread, min(start_ns) AS start_ns,
      max(end_ns) AS end_ns, min_by(span_id, start_ns) AS span_id
    FROM near WHERE level = 5 AND correlation_id IS NOT NULL GROUP BY ALL),
  gap AS MATERIALIZED (
    SELECT g.process, coalesce(covered_ns, from_ns) AS start_ns, g.start_ns AS end_ns, coalesce(l.thread, w.thread) AS thread,
      l.start_ns AS call_ns, l.end_ns AS called_ns, l.span_id AS call_id
    FROM covered g JOIN stretch w USING (process) LEFT JOIN launch l USING (process, correlation_id)
    WHERE g.start_ns > coalesce(covered_ns, from_ns)),
  blocking AS (
    SELECT process, thread, start_ns, end_ns, span_id FROM near
    WHERE level = 5 AND type IN ('synchronization', 'copy', 'allocation')),
  -- The gap until the launch, and how much of that is a blocking call's.
  dry AS (
    SELECT g.*, CASE WHEN call_ns IS NULL THEN g.end_ns ELSE least(greatest(call_ns, g.start_ns), g.end_ns) END
        AS launch_ns, b.span_id AS blocking_id,
      CASE WHEN b.end_ns > g.start_ns THEN b.end_ns - b.start_ns ELSE 0 END AS blocked_ns
    FROM gap g ASOF LEFT JOIN blocking b
      ON g.process = b.process AND g.thread = b.thread AND g.start_ns >= b.start_ns
    WHERE coalesce(called_ns > g.start_ns, true)),
  part AS (
    SELECT process, start_ns, end_ns, NULL AS thread, NULL AS span_id, 'device' AS kind FROM gap WHERE called_ns <= start_ns
    UNION ALL
    SELECT process, launch_ns, end_ns, thread, call_id, 'call' FROM dry WHERE launch_ns < end_ns
    UNION ALL
    SELECT process, start_ns, least(launch_ns, start_ns + blocked_ns), thread, blocking_id, 'blocked' FROM dry
    WHERE blocked_ns > 0 AND launch_ns > start_ns
    UNION ALL
    SELECT process, start_ns + blocked_ns, launch_ns, thread, NULL, 'host' FROM dry
    WHERE start_ns + blocked_ns < launch_ns),

  -- What each thread does: at every moment its innermost span. A span that ends leaves the moment to its parent, if
  -- that is of the same thread and still open.
  caller AS MATERIALIZED (
    SELECT n.span_id, n.parent_id, n.process, n.thread, n.level, n.start_ns, n.end_ns FROM near n
    WHERE device IS NULL AND EXISTS (FROM part p WHERE p.process = n.process AND p.thread = n.thread)),
  host_edge AS (
    SELECT process, thread, start_ns AS at_ns, span_id, end_ns, level, true AS is_start FROM caller
    UNION ALL
    SELECT c.process, c.thread, c.end_ns, p.span_id, p.end_ns, p.level, false
    FROM caller c LEFT JOIN caller p ON p.span_id = c.parent_id AND p.process = c.process AND p.thread = c.thread
      AND p.end_ns > c.end_ns),
  host_moment AS (
    SELECT process, thread, at_ns, max_by(span_id, (is_start, -end_ns, level, span_id)) AS span_id
    FROM host_edge GROUP BY ALL),
  -- Cut at the edges of the parts in which the host is what is waited for. -1: no span is open.
  both_edge AS (
    SELECT process, thread, at_ns, coalesce(span_id, -1) AS span_id, NULL::BIGINT AS until_ns FROM host_moment
    UNION ALL SELECT process, thread, start_ns, NULL, end_ns FROM part WHERE kind = 'host'
    UNION ALL SELECT process, thread, end_ns, NULL, end_ns FROM part WHERE kind = 'host'),
  both_moment AS (
    SELECT process, thread, at_ns, max(span_id) AS span_id, max(until_ns) AS until_ns FROM both_edge GROUP BY ALL),
  host_state AS (
    SELECT process, thread, at_ns AS start_ns, lead(at_ns) OVER in_order AS end_ns,
      nullif(coalesce(last_value(span_id IGNORE NULLS) OVER in_order, -1), -1) AS span_id,
      last_value(until_ns IGNORE NULLS) OVER in_order AS until_ns
    FROM both_moment WINDOW in_order AS (PARTITION BY process, thread ORDER BY at_ns)),
  piece AS MATERIALIZED (
    SELECT process, start_ns, end_ns, NULL AS thread, span_id, CASE WHEN is_hidden THEN 'hidden' ELSE 'busy' END AS kind,
      class AS track FROM busy
    UNION ALL SELECT process, start_ns, end_ns, thread, span_id, kind, 0 FROM part WHERE kind <> 'host'
    UNION ALL SELECT process, start_ns, end_ns, thread, span_id, 'host', 0 FROM host_state WHERE until_ns > start_ns),

  -- Cut to the periods: by the one that a piece begins in, and by those that begin in a piece.
  cut AS (
    SELECT p.*, q.start_ns AS period_ns, p.start_ns AS cut_start_ns, least(p.end_ns, q.end_ns) AS cut_end_ns
    FROM piece p ASOF JOIN period q ON p.process = q.process AND p.start_ns >= q.start_ns
    UNION ALL
    SELECT p.*, q.start_ns, q.start_ns, least(p.end_ns, q.end_ns)
    FROM (SELECT * FROM period, (SELECT unnest([0, 2, 3]) AS track)) q
      ASOF JOIN piece p ON p.process = q.process AND p.track = q.track AND q.start_ns > p.start_ns)
  SELECT process, period_ns, cut_start_ns AS start_ns, cut_end_ns AS end_ns, kind, thread, span_id
  FROM cut WHERE cut_end_ns > cut_start_ns;

-- The causes of a typical step, with who is to blame for each: `culprit` is a kernel, a call, an operator, a module or a
-- phase; NULL: the time is in no span. `layer` is the layer that it belongs to. time_ns is exclusive, hidden_ns ran
-- underneath something else; both are means over the typical steps, and all time_ns add up to the step. Matrix products
-- are compute, and every other kernel is memory: the memory's traffic bounds it in general. An operator that launches
-- nothing, and takes the host longer than 50 us, is a computation of the host's own.
CREATE OR REPLACE TEMP MACRO step_causes(wanted_batch) AS TABLE
  WITH piece AS MATERIALIZED (FROM pieces(wanted_batch, 100)),
  used AS (SELECT count(*) AS periods, avg(end_ns - start_ns) AS period_ns FROM periods(wanted_batch, 100)),
  every AS (SELECT avg(end_ns - start_ns) AS period_ns FROM periods(wanted_batch, 1000000000)),
  phase_of AS (
    SELECT site_id, max(value) AS phase FROM site_attribute
    WHERE run_id = cause_run(wanted_batch) AND key = 'phase' GROUP BY site_id),
  fact AS (
    SELECT EXISTS (FROM span WHERE run_id = cause_run(wanted_batch) AND level = 6 AND device IS NOT NULL) AS on_device,
      fact_of('recorded_by') = 'xsp run' AND fact_of('framework') = 'torch' AS in_python),
  cost AS (
    SELECT p.kind, p.span_id, sum(p.end_ns - p.start_ns) AS ns, count(*) AS pieces FROM piece p GROUP BY ALL),
  told AS MATERIALIZED (
    SELECT c.*, s.level, s.type, s.name, s.site_id, s.layer_id, phase,
      NOT (contains(s.type, '::') OR regexp_matches(s.type, 'Backward\\d+$')) AS is_module
    FROM cost c LEFT JOIN span s ON s.run_id = cause_run(wanted_batch) AND s.span_id = c.span_id
      LEFT JOIN phase_of USING (site_id)),
  launching AS (
    SELECT DISTINCT l.site_id FROM span c JOIN span l ON l.run_id = c.run_id AND l.span_id = c.parent_id
    WHERE c.run_id = cause_run(wanted_batch) AND c.level = 5 AND c.correlation_id IS NOT NULL AND l.level = 3),
  computing AS (
    SELECT site_id FROM told WHERE kind = 'host' AND level = 3 AND site_id NOT IN (FROM launching)
    GROUP BY site_id HAVING sum(ns) > 50_000 * count(DISTINCT span_id)),
  caused AS (
    SELECT CASE
        WHEN kind IN ('busy', 'hidden') THEN CASE WHEN NOT is_kernel(t.type) THEN 'copy'
          WHEN is_communication(t.name) THEN 'communication' WHEN kernel_work(t.name, NULL) = 2 THEN 'compute' ELSE 'memory' END
        WHEN kind = 'device' THEN 'device'
        WHEN kind = 'blocked' AND t.type <> 'allocation' THEN 'synchronisation'
        WHEN on_device AND t.site_id IN (FROM computing) AND NOT (in_python AND is_module) THEN 'host code'
        ELSE host_cause(t.level, t.type, t.name, phase, on_device, in_python, is_module) END AS cause,
      CASE WHEN kind IN ('busy', 'hidden') THEN kernel_label(t.name)
        WHEN t.level = 3 THEN t.type ELSE t.name END AS culprit,
      l.name AS layer, kind, ns, pieces
    FROM told t CROSS JOIN fact
      LEFT JOIN span l ON l.run_id = cause_run(wanted_batch) AND l.span_id = t.layer_id)
  SELECT cause, culprit, layer, NULL::VARCHAR AS place,
    coalesce(sum(ns) FILTER (kind <> 'hidden'), 0) / periods * (every.period_ns / used.period_ns) AS time_ns,
    coalesce(sum(ns) FILTER (kind = 'hidden'), 0) / periods * (every.period_ns / used.period_ns) AS hidden_ns,
    sum(pieces) / periods AS pieces
  FROM caused, used, every GROUP BY cause, culprit, layer, periods, every.period_ns, used.period_ns;
