-- This file gives each nanosecond of a step one cause. It is loaded after the preludes before it.
--
-- A period goes from one start of the unit that repeats to the next (every_period). At each moment of it, a process'
-- devices compute (any kernel), else communicate, else copy, else they are idle. Operations that run underneath are
-- hidden. If several operations of one of these kinds run, the moment belongs to the one that began first. An idle gap
-- [a, b) ends with the operation that begins first after it, which a thread launched with a call [c, d). Calls with one
-- correlation id are one call, from the first one's start, on its thread, to the last end.
--   * If d <= a, the operation was queued. The gap is the device's own (it waits for another stream, or begins slowly).
--   * Otherwise the queue had run dry. [max(a, c), b) belongs to that call: launch, or the preparation of a copy. The
--     time before it belongs to the thread's spans, moment by moment. If the thread was in a blocking call [s, e) at a
--     (of several, the one that ends last), [a, e) belongs to that call, but not beyond c: allocation, if it is one,
--     else synchronisation. The call blocked the thread for a - s before the queue ran dry. So the same amount of the
--     launching until b, from its first moment on, also belongs to it; except in a gap in which an inference of a
--     profiled model begins or ends, because xsp keeps inferences apart on purpose. Launching is: framework, launch,
--     preparation of a copy, synchronisation, and stretches of less than 100 us of the program's own code, in one span
--     or in none. Longer code, data and allocation keep their causes, because the gap would remain without the call.
-- A gap before an operation with an unknown launch, or after the last operation, belongs to the thread of the steps.
-- Before the very first operation, no queue has run dry. A thread's activity at a moment is the innermost of its spans
-- with a length and an end: the one that began last; of several, the one that ends first, then the one at the deepest
-- level. If the innermost span is that of a step or a process, the thread is in none. In a program without a device,
-- the time belongs to the thread of the step. Every moment is in one piece, and the pieces of a period add up to it to
-- the nanosecond. A slow and simple program in the tests (slow_causes_test.cc) computes them again from the raw rows by
-- this description.

-- The run that has most detail of a step, by batch size: the one that recorded the device, else the layers, else the
-- model. NULL: the smallest batch size of each, or a program without a model. A run that saw one of a program's many
-- calls shows no step.
CREATE OR REPLACE TEMP TABLE run_of_steps AS
  SELECT run_id FROM run
  WHERE fact_of('recorded_by') IS NULL OR iterations >= least(2, (SELECT max(iterations) FROM run));
CREATE OR REPLACE TEMP TABLE run_of_causes AS
  SELECT wanted, coalesce(
    (SELECT run_id FROM run_of_steps WHERE run_id = chosen_run(6, wanted)),
    (SELECT run_id FROM run_of_steps WHERE run_id = chosen_layer_run(wanted)), chosen_run(2, wanted),
    (SELECT max_by(run_id, (deepest_level(levels), run_id)) FROM run
     WHERE wanted IS NULL AND status <> 'failed' AND NOT has_counters(counters))) AS run_id
  FROM (SELECT DISTINCT batch AS wanted FROM source_run UNION ALL SELECT NULL);
CREATE OR REPLACE TEMP MACRO cause_run(wanted_batch) AS
  (SELECT run_id FROM run_of_causes WHERE wanted IS NOT DISTINCT FROM wanted_batch);
-- The sites of all layers that these runs executed. Name and type belong to the site.
CREATE OR REPLACE TEMP TABLE layer_site AS
  SELECT run_id, site_id, any_value(name) AS name, any_value(type) AS type
  FROM span SEMI JOIN run_of_causes USING (run_id) WHERE level = 3 GROUP BY run_id, site_id;
-- The layers that run only where a batch is prepared.
CREATE OR REPLACE TEMP TABLE data_layer AS
  SELECT run_id, name
  FROM layer_site LEFT JOIN (SELECT run_id, site_id, value FROM site_attribute WHERE key = 'phase')
    USING (run_id, site_id)
  GROUP BY run_id, name HAVING bool_and(coalesce(value = 'data', false));

-- Returns the operations that the device executed in these runs, each with the call that launched it.
CREATE OR REPLACE TEMP MACRO operations_of(run_ids) AS TABLE
  -- A join, because DuckDB reads no spans at all if there is no run to read.
  WITH wanted AS MATERIALIZED (SELECT unnest(run_ids) AS run_id),
  -- Several calls may have one number; the first counts. As one large number, start and span are compared faster.
  call AS NOT MATERIALIZED (
    SELECT run_id, process, correlation_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
      min_by(thread, place) AS thread, min_by(span_id, place) AS span_id
    FROM (
      SELECT run_id, coalesce(process, 0) AS process, coalesce(thread, 0) AS thread, correlation_id, span_id, start_ns,
        start_ns + duration_ns AS end_ns, CAST(start_ns AS HUGEINT) * 4611686018427387904 + span_id AS place
      FROM span JOIN wanted USING (run_id) WHERE level = 5 AND correlation_id IS NOT NULL)
    GROUP BY ALL)
  SELECT s.run_id, coalesce(s.process, 0) AS process, s.span_id, s.type, s.name, s.start_ns,
    s.start_ns + s.duration_ns AS end_ns, s.iteration, s.layer_id, c.thread, c.start_ns AS call_ns,
    c.end_ns AS called_ns, c.span_id AS call_id
  FROM span s JOIN wanted USING (run_id) LEFT JOIN call c ON c.run_id = s.run_id AND c.process = coalesce(s.process, 0)
    AND c.correlation_id = s.correlation_id
  WHERE s.level = 6 AND s.device IS NOT NULL AND NOT s.is_open AND s.duration_ns > 0;

-- Every step of these runs, and every typical inference. The host may be steps ahead of the device, so a step's
-- time is taken where its work is done: from the first operation that it launched to the first that the next step
-- launched, but not before the start of the previous step. Steps are those of the process's thread with the most steps
-- (of several, the first thread). If no step launches anything, steps go from start to end on the host, if they are
-- whole. Otherwise a step that launches nothing has no period, nor has the one before it. An operation belongs to the
-- step in which its call begins. If steps are calls of the model, the operation's call must be inside, because work
-- that is launched in between may belong to the next step. ahead_ns is how long the first operation waited; NULL: there
-- is none. host_ns to host_end_ns is the step on the host, and work_ns is the sum of its operations' times. In an
-- evaluation that `xsp profile` made, the steps are the inferences, because the time between them is not the model's.
CREATE OR REPLACE TEMP TABLE every_period AS
  WITH watched AS (SELECT DISTINCT run_id FROM run_of_causes WHERE fact_of('recorded_by') IS NOT NULL),
  step AS MATERIALIZED (
    SELECT * EXCLUDE (steps) FROM (
      SELECT run_id, coalesce(process, 0) AS process, coalesce(thread, 0) AS thread, kind, number, start_ns, end_ns,
        own_end_ns, is_whole, part, count(*) OVER (PARTITION BY run_id, process, thread) AS steps
      FROM every_step SEMI JOIN watched USING (run_id))
    QUALIFY thread = first_value(thread) OVER (PARTITION BY run_id, process ORDER BY steps DESC, thread)),
  launched AS (
    SELECT t.run_id, t.process, t.start_ns, t.end_ns, min(o.start_ns) AS device_ns,
      sum(o.end_ns - o.start_ns) AS work_ns
    FROM operations_of((SELECT list(run_id) FROM watched)) o
      ASOF JOIN (FROM step WHERE own_end_ns > start_ns) t
      ON o.run_id = t.run_id AND o.process = t.process AND o.call_ns >= t.start_ns
    WHERE o.call_ns < t.own_end_ns GROUP BY ALL),
  -- Streams may begin a later step's operations first. Then that step begins no earlier than the one before.
  begun AS (
    SELECT t.*, CASE WHEN l.device_ns IS NOT NULL THEN max(l.device_ns) OVER (
      PARTITION BY t.run_id, t.process ORDER BY t.start_ns, number ROWS UNBOUNDED PRECEDING) END AS device_ns, work_ns
    FROM step t LEFT JOIN launched l USING (run_id, process, start_ns, end_ns)),
  followed AS (
    SELECT *, CASE WHEN lead(number) OVER in_order = number + 1 THEN lead(device_ns) OVER in_order END
      AS next_ns, count(device_ns) OVER (PARTITION BY run_id, process) AS on_device
    FROM begun WINDOW in_order AS (PARTITION BY run_id, process ORDER BY start_ns, number))
  SELECT run_id, process, thread, kind, part, CASE WHEN on_device > 0 THEN device_ns ELSE start_ns END AS start_ns,
    CASE WHEN on_device > 0 THEN next_ns ELSE end_ns END AS end_ns, device_ns - start_ns AS ahead_ns,
    start_ns AS host_ns, end_ns AS host_end_ns, work_ns
  FROM followed WHERE CASE WHEN on_device > 0 THEN next_ns > device_ns ELSE is_whole AND end_ns > start_ns END
  UNION ALL
  SELECT run_id, process, thread, 'inference', 'steady', start_ns, start_ns + duration_ns, NULL, start_ns,
    start_ns + duration_ns, NULL
  FROM measured_inference SEMI JOIN run_of_causes USING (run_id)
  WHERE is_typical AND fact_of('recorded_by') IS NULL;

-- The steady steps by run, each with its place among the `kept` of its process. Inferences are the typical ones. all_ns
-- is the mean length over all steady steps of all processes. All steady steps count, because a pause in every tenth
-- step belongs to the program. However, a step that is more than twenty times as long as the median, and the only one
-- among fifty, lies between two loops.
CREATE OR REPLACE TEMP TABLE steady_period AS
  WITH every AS MATERIALIZED (
    SELECT *, list_position(['steady', 'warm-up', 'first'], part) AS rank FROM every_period),
  best AS (
    FROM every SEMI JOIN (SELECT run_id, process, min(rank) AS rank FROM every GROUP BY ALL)
      USING (run_id, process, rank)),
  far AS (
    SELECT *, count(*) OVER of_process AS n,
      end_ns - start_ns > 20 * median(end_ns - start_ns) OVER of_process AS is_far
    FROM best WINDOW of_process AS (PARTITION BY run_id, process)),
  counted AS (
    SELECT * FROM far
    QUALIFY is_of_loop(is_far, count(CASE WHEN is_far THEN 1 END) OVER (PARTITION BY run_id, process), n))
  SELECT run_id, process, thread, kind, part, start_ns, end_ns, ahead_ns, host_ns, host_end_ns, work_ns,
    row_number() OVER (PARTITION BY run_id, process ORDER BY start_ns) - 1 AS place,
    count(*) OVER (PARTITION BY run_id, process) AS kept, avg(end_ns - start_ns) OVER (PARTITION BY run_id) AS all_ns
  FROM counted;
-- Returns the steady steps of the run of causes, at most `how_many` of a process, from the middle of the run.
CREATE OR REPLACE TEMP MACRO periods(wanted_batch, how_many) AS TABLE
  SELECT * EXCLUDE (run_id, place, kept) FROM steady_period
  WHERE run_id = cause_run(wanted_batch)
    AND (place >= (kept - how_many) // 2 AND place < (kept - how_many) // 2 + how_many OR kept <= how_many);

CREATE OR REPLACE TEMP MACRO is_transfer(waits_in) AS
  waits_in IN ('read', 'write', 'pread64', 'pwrite64', 'readv', 'writev', 'fsync', 'fdatasync', 'open', 'openat',
    'close', 'recvfrom', 'recvmsg', 'sendto', 'sendmsg', 'sendfile', 'copy_file_range', 'getdents64', 'stat',
    'newfstatat');
CREATE OR REPLACE TEMP MACRO interpreters_lock() AS 'the lock of Python''s interpreter';
-- Functions that wait by polling are recognised by their names.
CREATE OR REPLACE TEMP MACRO is_spinning(function) AS coalesce(
  regexp_matches(lower(function),
    '(^|[:_.]|busy)(wait|spin|yield|barrier|pause|poll)(s|_?(for|until|lock|wait)\w*)?(\(|$)'), false);
CREATE OR REPLACE TEMP MACRO is_communication(name) AS name ILIKE 'nccl%';
-- host_cause returns the cause for a thread's innermost span while the device is idle, or if there is none. is_module
-- distinguishes modules of Python from operators.
CREATE OR REPLACE TEMP MACRO is_module(type) AS
  coalesce(NOT (contains(type, '::') OR regexp_matches(type, 'Backward\d+$')), false);
-- If no layers of a model were recorded, its own span counts as computing.
CREATE OR REPLACE TEMP MACRO host_cause(level, type, name, phase, on_device, in_python, has_layers) AS CASE
  WHEN level IS NULL THEN 'host code'
  WHEN phase = 'data' OR type LIKE 'enumerate(DataLoader)%' THEN 'data'
  WHEN level = 5 THEN CASE
    WHEN type IN ('launch', 'graph_launch', 'memset') THEN 'launch' WHEN type = 'copy' THEN 'copy preparation'
    WHEN type = 'synchronization' THEN 'synchronisation' WHEN type = 'allocation' THEN 'allocation'
    WHEN type = 'overhead' THEN
      CASE WHEN name = 'command buffer is full' THEN 'launch' ELSE 'recording' END ELSE 'framework' END
  WHEN level = 1 AND phase = 'gc' THEN 'garbage collection'
  WHEN level = 1 AND phase = 'backward' THEN 'framework'
  WHEN level = 1 OR (in_python AND (level = 2 OR (level = 3 AND is_module(type)))) THEN 'host code'
  WHEN on_device OR (level = 2 AND has_layers) THEN 'framework'
  ELSE 'compute' END;

-- Every piece of the periods: [start_ns, end_ns) has one cause. all_ns is that of steady_period. `span_id` is the
-- running operation of the device, or the span of the thread that the time belongs to (NULL: no span). `thread` is that
-- thread; NULL: the time is the device's. `waiter` is the thread whose call waits for a copy. Pieces of the device that
-- run underneath others are hidden.
CREATE OR REPLACE TEMP TABLE period_piece AS
  WITH period AS MATERIALIZED (FROM periods(asked_batch(), (SELECT periods FROM asked_for))),
  -- Adds the longest period before the first one and after the last, and extends to the nearest operation's edge.
  around AS (
    SELECT cause_run(asked_batch()) AS run_id, process, min_by(thread, start_ns) AS thread,
      min(start_ns) - max(end_ns - start_ns) AS from_ns, max(end_ns) + max(end_ns - start_ns) AS until_ns
    FROM period GROUP BY process),
  edge AS (
    SELECT w.process, max(s.start_ns + s.duration_ns) FILTER (s.start_ns + s.duration_ns <= from_ns) AS before_ns,
      min(s.start_ns) FILTER (s.start_ns >= until_ns) AS after_ns
    FROM span s JOIN around w ON w.run_id = s.run_id AND w.process = coalesce(s.process, 0)
    WHERE s.level = 6 AND s.device IS NOT NULL AND NOT s.is_open AND s.duration_ns > 0 GROUP BY w.process),
  stretch AS MATERIALIZED (
    SELECT run_id, process, thread, before_ns, coalesce(before_ns, from_ns) AS from_ns,
      coalesce(after_ns, until_ns) AS until_ns
    FROM around LEFT JOIN edge USING (process)),
  near AS MATERIALIZED (
    SELECT s.span_id, s.parent_id, w.process, coalesce(s.thread, 0) AS thread, s.level, s.type, s.name, s.site_id,
      s.self_ns, s.start_ns, s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN stretch w ON w.run_id = s.run_id AND w.process = coalesce(s.process, 0)
    WHERE NOT s.is_open AND s.duration_ns > 0 AND s.start_ns < until_ns AND s.start_ns + s.duration_ns > from_ns
      AND s.device IS NULL),

  -- The device: the pieces of each class that are not under an earlier piece of it, and then the highest class at each
  -- moment. This is like operations_of(), but only for these stretches, because the calls of a whole run take seconds.
  executed AS MATERIALIZED (
    SELECT w.process, s.span_id, s.correlation_id, s.type, s.name, s.start_ns, s.start_ns + s.duration_ns AS end_ns
    FROM span s JOIN stretch w ON w.run_id = s.run_id AND w.process = coalesce(s.process, 0)
    WHERE s.level = 6 AND s.device IS NOT NULL AND NOT s.is_open AND s.duration_ns > 0 AND s.start_ns <= until_ns
      AND s.start_ns + s.duration_ns > from_ns),
  call AS (
    SELECT k.process, k.correlation_id, min(c.start_ns) AS call_ns, max(c.start_ns + c.duration_ns) AS called_ns,
      min_by(struct_pack(span_id := c.span_id, thread := coalesce(c.thread, 0), type := coalesce(c.type, ''),
        name := c.name), (c.start_ns, c.span_id)) AS first
    FROM span c JOIN (SELECT DISTINCT process, correlation_id FROM executed) k
      ON k.correlation_id = c.correlation_id AND k.process = coalesce(c.process, 0)
    WHERE c.run_id = cause_run(asked_batch()) AND c.level = 5 GROUP BY ALL),
  operation AS MATERIALIZED (
    SELECT o.*, call_ns, called_ns, c.first.span_id AS call_id, c.first.thread AS thread, c.first.type AS call_type,
      c.first.name AS call_name,
      CASE WHEN NOT is_kernel(type) THEN 3 WHEN is_communication(name) THEN 2 ELSE 1 END AS class
    FROM executed o LEFT JOIN call c USING (process, correlation_id)),
  alone AS (
    SELECT process, class, span_id, end_ns, start_ns AS begin_ns, greatest(start_ns, coalesce(max(end_ns) OVER (
      PARTITION BY process, class ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
      start_ns)) AS start_ns
    FROM operation),
  device_edge AS (
    SELECT process, start_ns AS at_ns, class, span_id, end_ns FROM alone WHERE end_ns > start_ns
    UNION ALL SELECT process, end_ns, 0, NULL, NULL FROM alone WHERE end_ns > start_ns),
  device_moment AS (
    SELECT process, at_ns,
      max(CASE WHEN class = 1 THEN span_id END) AS span_1, max(CASE WHEN class = 1 THEN end_ns END) AS end_1,
      max(CASE WHEN class = 2 THEN span_id END) AS span_2, max(CASE WHEN class = 2 THEN end_ns END) AS end_2,
      max(CASE WHEN class = 3 THEN span_id END) AS span_3, max(CASE WHEN class = 3 THEN end_ns END) AS end_3
    FROM device_edge GROUP BY ALL),
  -- The last end so far is the greatest one. A search for the last value that is not NULL would take quadratic time.
  device_state AS (
    SELECT process, at_ns AS start_ns, lead(at_ns) OVER in_order AS end_ns,
      max_by(span_1, end_1) OVER in_order AS span_1, max(end_1) OVER in_order AS end_1,
      max_by(span_2, end_2) OVER in_order AS span_2, max(end_2) OVER in_order AS end_2,
      max_by(span_3, end_3) OVER in_order AS span_3, max(end_3) OVER in_order AS end_3
    FROM device_moment WINDOW in_order AS (PARTITION BY process ORDER BY at_ns)),
  running AS MATERIALIZED (
    SELECT process, start_ns, end_ns, CASE WHEN end_1 > start_ns THEN span_1 END AS span_1,
      CASE WHEN end_2 > start_ns THEN span_2 END AS span_2, CASE WHEN end_3 > start_ns THEN span_3 END AS span_3
    FROM device_state),
  busy AS (
    SELECT process, start_ns, end_ns, coalesce(span_1, span_2, span_3) AS span_id, false AS is_hidden,
      false AS is_beside
    FROM running
    WHERE coalesce(span_1, span_2, span_3) IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_2, true, false FROM running WHERE span_1 IS NOT NULL AND span_2 IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_3, true, false FROM running
    WHERE coalesce(span_1, span_2) IS NOT NULL AND span_3 IS NOT NULL
    UNION ALL
    SELECT process, begin_ns, least(start_ns, end_ns), span_id, true, true FROM alone WHERE start_ns > begin_ns),

  -- The gaps, each with the call that launched the operation at its end. The last one of a process has no call.
  covered AS (
    SELECT process, start_ns, thread, call_ns, called_ns, call_id, call_type, call_name, max(end_ns) OVER (
      PARTITION BY process ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM operation
    UNION ALL
    SELECT w.process, until_ns, NULL, NULL, NULL, NULL, NULL, NULL,
      (SELECT max(o.end_ns) FROM operation o WHERE o.process = w.process) FROM stretch w),
  gap AS MATERIALIZED (
    SELECT g.process, coalesce(covered_ns, from_ns) AS start_ns, g.start_ns AS end_ns,
      coalesce(g.thread, w.thread) AS thread, call_ns, called_ns, call_id, call_type, call_name,
      coalesce(covered_ns, before_ns) IS NOT NULL AS ran_dry
    FROM covered g JOIN stretch w USING (process)
    WHERE g.start_ns > coalesce(covered_ns, from_ns)),
  -- Calls inside another blocking call are left out, because the outer call blocks.
  blocking AS (
    SELECT process, thread, start_ns, end_ns, span_id, CASE type WHEN 'allocation' THEN type ELSE 'synchronisation' END
      AS waits
    FROM near WHERE level = 5 AND type IN ('synchronization', 'copy', 'allocation')
    QUALIFY end_ns > coalesce(max(end_ns) OVER (
      PARTITION BY process, thread ORDER BY start_ns, end_ns DESC, level, span_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)),
  boundary AS (
    SELECT process, unnest([start_ns, end_ns]) AS boundary_ns FROM period WHERE kind = 'inference'),
  -- The gap until the launch, with the blocking call in which the thread was.
  dry AS (
    SELECT g.*, CASE WHEN call_ns IS NULL THEN g.end_ns ELSE least(greatest(call_ns, g.start_ns), g.end_ns) END
        AS launch_ns,
      CASE WHEN b.end_ns > g.start_ns THEN b.span_id END AS blocking_id, b.waits,
      CASE WHEN b.end_ns > g.start_ns THEN b.end_ns ELSE g.start_ns END AS free_ns,
      CASE WHEN b.end_ns > g.start_ns AND coalesce(m.boundary_ns > g.end_ns, true) THEN g.start_ns - b.start_ns
           ELSE 0 END AS delay_ns
    FROM gap g ASOF LEFT JOIN blocking b
      ON g.process = b.process AND CASE WHEN ran_dry THEN g.thread END = b.thread AND g.start_ns >= b.start_ns
    ASOF LEFT JOIN boundary m ON g.process = m.process AND g.start_ns < m.boundary_ns
    WHERE coalesce(called_ns > g.start_ns, true)),
  part AS MATERIALIZED (
    SELECT process, start_ns AS gap_ns, start_ns, end_ns, NULL AS thread, NULL AS span_id, NULL AS blocking_id,
      'device' AS kind, 0 AS delay_ns, NULL AS waits, NULL AS call_type, NULL AS call_name
    FROM gap WHERE called_ns <= start_ns
    UNION ALL
    SELECT process, start_ns, start_ns, least(launch_ns, free_ns), thread, blocking_id, NULL, 'blocked', 0, waits, NULL,
      NULL
    FROM dry
    WHERE start_ns < least(launch_ns, free_ns)
    UNION ALL
    SELECT process, start_ns, free_ns, launch_ns, thread, NULL, blocking_id, 'host', delay_ns, waits, NULL, NULL
    FROM dry
    WHERE free_ns < launch_ns
    UNION ALL
    SELECT process, start_ns, launch_ns, end_ns, thread, call_id, blocking_id, 'call', delay_ns, waits,
      call_type, call_name FROM dry
    WHERE launch_ns < end_ns),

  -- A thread is in its innermost span at every moment. When a span ends, the thread is in the span's parent, if that is
  -- of the same thread and still open.
  caller AS MATERIALIZED (
    SELECT n.*, CASE WHEN type IN ('step', 'process') THEN -1 ELSE span_id END AS told_id FROM near n
    WHERE EXISTS (FROM part p WHERE p.process = n.process AND p.thread = n.thread)),
  host_edge AS (
    SELECT process, thread, start_ns AS at_ns, told_id, span_id, end_ns, level, true AS is_start FROM caller
    UNION ALL
    SELECT c.process, c.thread, c.end_ns, p.told_id, p.span_id, p.end_ns, p.level, false
    FROM caller c LEFT JOIN caller p ON p.span_id = c.parent_id AND p.process = c.process AND p.thread = c.thread
      AND p.end_ns > c.end_ns),
  host_moment AS (
    SELECT process, thread, at_ns, coalesce(max_by(told_id, (is_start, -end_ns, level, span_id)), -1) AS span_id
    FROM host_edge GROUP BY ALL),
  host_change AS (
    FROM host_moment
    QUALIFY span_id IS DISTINCT FROM lag(span_id) OVER (PARTITION BY process, thread ORDER BY at_ns)),
  -- Cuts at the edges of the parts in which the device waits for the host. -1: no span is open.
  both_edge AS (
    SELECT process, thread, at_ns, span_id, NULL AS part_ns, NULL AS until_ns FROM host_change
    UNION ALL SELECT process, thread, start_ns, NULL, start_ns, end_ns FROM part WHERE kind = 'host'
    UNION ALL SELECT process, thread, end_ns, NULL, NULL, NULL FROM part WHERE kind = 'host'),
  both_moment AS (
    SELECT process, thread, at_ns, max(span_id) AS span_id, max(part_ns) AS part_ns, max(until_ns) AS until_ns
    FROM both_edge GROUP BY ALL),
  host_state AS (
    SELECT process, thread, at_ns AS start_ns, lead(at_ns) OVER in_order AS end_ns,
      nullif(coalesce(last_value(span_id IGNORE NULLS) OVER in_order, -1), -1) AS span_id,
      max(part_ns) OVER in_order AS part_ns, max(until_ns) OVER in_order AS until_ns
    FROM both_moment WINDOW in_order AS (PARTITION BY process, thread ORDER BY at_ns)),

  -- The cause of each moment of the host, and the launching that a blocking call delayed.
  fact AS (
    SELECT EXISTS (FROM operation) AS on_device, EXISTS (FROM near WHERE level = 3) AS has_layers,
      NOT EXISTS (FROM operation) AND fact_of('recorded_by') IS NULL AND coalesce((
        SELECT device LIKE 'cuda%' FROM run_device WHERE run_id = cause_run(asked_batch())), false) AS is_unseen,
      fact_of('recorded_by') = 'xsp run' AND fact_of('framework') = 'torch' AS in_python),
  phase_of AS (
    SELECT site_id, max(value) AS phase FROM site_attribute
    WHERE run_id = cause_run(asked_batch()) AND key = 'phase' GROUP BY site_id),
  launching AS (
    SELECT DISTINCT l.site_id FROM near c JOIN near l ON l.process = c.process AND l.span_id = c.parent_id
    WHERE c.level = 5 AND c.type IN ('launch', 'graph_launch', 'copy', 'memset')),
  -- Names are matched once each.
  work AS MATERIALIZED (
    SELECT name, kernel_work(name, NULL) = 2 AS multiplies FROM (SELECT DISTINCT name FROM operation)),
  computing AS (
    SELECT site_id FROM near WHERE level = 3 AND site_id NOT IN (FROM launching)
    GROUP BY site_id HAVING avg(self_ns) > 50_000),
  told AS (
    SELECT h.process, h.thread, h.start_ns, h.end_ns, h.span_id, p.blocking_id, p.gap_ns, p.delay_ns, p.waits,
      n.level, n.site_id, host_cause(n.level, n.type, n.name, phase, on_device, in_python, has_layers) AS cause
    FROM host_state h JOIN part p ON p.process = h.process AND p.thread = h.thread AND p.start_ns = h.part_ns
        AND p.kind = 'host'
      LEFT JOIN near n ON n.process = h.process AND n.span_id = h.span_id LEFT JOIN phase_of USING (site_id)
      CROSS JOIN fact
    WHERE h.until_ns > h.start_ns
    UNION ALL
    SELECT process, thread, start_ns, end_ns, span_id, blocking_id, gap_ns, delay_ns, waits, 5, NULL,
      host_cause(5, call_type, call_name, NULL, true, false, true)
    FROM part WHERE kind = 'call'),
  -- If no work of the device was recorded, nobody knows what it does while the model runs.
  judged AS (
    SELECT * REPLACE (CASE WHEN cause = 'framework' AND level = 3 AND site_id IN (FROM computing) THEN 'host code'
      WHEN cause = 'compute' AND (SELECT is_unseen FROM fact) THEN 'unknown' ELSE cause END AS cause) FROM told),
  weighed AS (
    SELECT *, CASE WHEN cause IN ('framework', 'launch', 'copy preparation', 'synchronisation')
        OR (cause = 'host code' AND end_ns - start_ns < 100_000) THEN end_ns - start_ns ELSE 0 END AS launching_ns
    FROM judged),
  delayed AS (
    SELECT *, start_ns + CAST(least(launching_ns, greatest(0, delay_ns - (sum(launching_ns) OVER (PARTITION BY
        process, gap_ns ORDER BY start_ns ROWS UNBOUNDED PRECEDING) - launching_ns))) AS BIGINT) AS split_ns
    FROM weighed),
  piece AS MATERIALIZED (
    SELECT b.process, b.start_ns, b.end_ns, NULL AS thread, b.span_id, CASE WHEN class = 3 THEN 'copy'
        WHEN class = 2 THEN 'communication' WHEN multiplies THEN 'compute' ELSE 'other kernels' END AS cause,
      CASE WHEN class = 3 AND NOT is_hidden AND called_ns >= b.end_ns THEN o.thread END AS waiter,
      is_hidden, CASE WHEN is_beside THEN 4 WHEN is_hidden THEN class ELSE 0 END AS track
    FROM busy b JOIN operation o ON o.process = b.process AND o.span_id = b.span_id
      LEFT JOIN work USING (name)
    UNION ALL
    SELECT process, start_ns, end_ns, thread, span_id, coalesce(waits, kind), NULL, false, 0
    FROM part WHERE kind IN ('device', 'blocked')
    UNION ALL
    SELECT process, start_ns, split_ns, thread, blocking_id, waits, NULL, false, 0 FROM delayed
    WHERE split_ns > start_ns
    UNION ALL
    SELECT process, split_ns, end_ns, thread, span_id, cause, NULL, false, 0 FROM delayed WHERE end_ns > split_ns),

  -- Cuts the pieces to the periods: by the period in which a piece begins, and by the periods that begin in a piece.
  cut AS (
    SELECT p.*, q.start_ns AS period_ns, all_ns, p.start_ns AS cut_start_ns, least(p.end_ns, q.end_ns) AS cut_end_ns
    FROM piece p ASOF JOIN period q ON p.process = q.process AND p.start_ns >= q.start_ns
    UNION ALL
    SELECT p.*, q.start_ns, all_ns, q.start_ns, least(p.end_ns, q.end_ns)
    FROM (SELECT * FROM period, (SELECT unnest([0, 2, 3]) AS track)) q
      ASOF JOIN piece p ON p.process = q.process AND p.track = q.track AND q.start_ns > p.start_ns
    UNION ALL
    -- Operations that run beside an earlier one of their class may overlap one another. An ASOF join finds only one.
    SELECT p.*, q.start_ns, all_ns, q.start_ns, least(p.end_ns, q.end_ns)
    FROM piece p JOIN period q ON p.process = q.process AND q.start_ns > p.start_ns AND q.start_ns < p.end_ns
    WHERE p.track = 4)
  SELECT process, period_ns, cut_start_ns AS start_ns, cut_end_ns AS end_ns, cause, is_hidden, thread, waiter,
    span_id, all_ns
  FROM cut WHERE cut_end_ns > cut_start_ns;
