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

-- Returns every step of that run, and every typical inference. The host may be steps ahead of the device, so a step's
-- time is taken where its work is done: from the first operation that it launched to the first that the next step
-- launched, but not before the start of the previous step. Steps are those of the process's thread with the most steps
-- (of several, the first thread). If no step launches anything, steps go from start to end on the host, if they are
-- whole. Otherwise a step that launches nothing has no period, nor has the one before it. An operation belongs to the
-- step in which its call begins. If steps are calls of the model, the operation's call must be inside, because work
-- that is launched in between may belong to the next step. ahead_ns is how long the first operation waited; NULL: there
-- is none. host_ns to host_end_ns is the step on the host, and work_ns is the sum of its operations' times. In an
-- evaluation that `xsp profile` made, the steps are the inferences, because the time between them is not the model's.
CREATE OR REPLACE TEMP MACRO every_period(wanted_batch) AS TABLE
  WITH step AS MATERIALIZED (
    SELECT * EXCLUDE (steps) FROM (
      SELECT coalesce(process, 0) AS process, coalesce(thread, 0) AS thread, kind, number, start_ns, end_ns,
        own_end_ns, is_whole, part, count(*) OVER (PARTITION BY process, thread) AS steps
      FROM every_step
      WHERE run_id = cause_run(wanted_batch) AND fact_of('recorded_by') IS NOT NULL)
    QUALIFY thread = first_value(thread) OVER (PARTITION BY process ORDER BY steps DESC, thread)),
  launched AS (
    SELECT t.process, t.start_ns, t.end_ns, min(o.start_ns) AS device_ns, sum(o.end_ns - o.start_ns) AS work_ns
    FROM operations_of(CASE WHEN fact_of('recorded_by') IS NOT NULL THEN [cause_run(wanted_batch)] END) o
      ASOF JOIN (FROM step WHERE own_end_ns > start_ns) t
      ON o.process = t.process AND o.call_ns >= t.start_ns
    WHERE o.call_ns < t.own_end_ns GROUP BY ALL),
  -- Streams may begin a later step's operations first. Then that step begins no earlier than the one before.
  begun AS (
    SELECT t.*, CASE WHEN l.device_ns IS NOT NULL THEN max(l.device_ns) OVER (
      PARTITION BY t.process ORDER BY t.start_ns, number ROWS UNBOUNDED PRECEDING) END AS device_ns, work_ns
    FROM step t LEFT JOIN launched l USING (process, start_ns, end_ns)),
  followed AS (
    SELECT *, CASE WHEN lead(number) OVER in_order = number + 1 THEN lead(device_ns) OVER in_order END
      AS next_ns, count(device_ns) OVER (PARTITION BY process) AS on_device
    FROM begun WINDOW in_order AS (PARTITION BY process ORDER BY start_ns, number))
  SELECT process, thread, kind, part, CASE WHEN on_device > 0 THEN device_ns ELSE start_ns END AS start_ns,
    CASE WHEN on_device > 0 THEN next_ns ELSE end_ns END AS end_ns, device_ns - start_ns AS ahead_ns,
    start_ns AS host_ns, end_ns AS host_end_ns, work_ns
  FROM followed WHERE CASE WHEN on_device > 0 THEN next_ns > device_ns ELSE is_whole AND end_ns > start_ns END
  UNION ALL
  SELECT process, thread, 'inference', 'steady', start_ns, start_ns + duration_ns, NULL, start_ns,
    start_ns + duration_ns, NULL
  FROM measured_inference WHERE run_id = cause_run(wanted_batch) AND is_typical AND fact_of('recorded_by') IS NULL;

-- Returns the steady steps, at most `how_many` of a process, from the middle of the run. Inferences are the typical
-- ones. all_ns is the mean length over all steady steps of all processes, including those beyond `how_many`. All steady
-- steps count, because a pause in every tenth step belongs to the program. However, a step that is more than twenty
-- times as long as the median, and the only one among fifty, lies between two loops.
CREATE OR REPLACE TEMP MACRO periods(wanted_batch, how_many) AS TABLE
  WITH every AS MATERIALIZED (
    SELECT *, list_position(['steady', 'warm-up', 'first'], part) AS rank FROM every_period(wanted_batch)),
  best AS (FROM every SEMI JOIN (SELECT process, min(rank) AS rank FROM every GROUP BY process) USING (process, rank)),
  far AS (
    SELECT *, count(*) OVER of_process AS n,
      end_ns - start_ns > 20 * median(end_ns - start_ns) OVER of_process AS is_far
    FROM best WINDOW of_process AS (PARTITION BY process)),
  counted AS (
    SELECT * FROM far QUALIFY is_of_loop(is_far, count(CASE WHEN is_far THEN 1 END) OVER (PARTITION BY process), n)),
  placed AS (
    SELECT *, row_number() OVER (PARTITION BY process ORDER BY start_ns) - 1 AS place,
      count(*) OVER (PARTITION BY process) AS kept, avg(end_ns - start_ns) OVER () AS all_ns
    FROM counted)
  SELECT process, thread, kind, part, start_ns, end_ns, ahead_ns, host_ns, host_end_ns, work_ns, all_ns FROM placed
  WHERE place >= (kept - how_many) // 2 AND place < (kept - how_many) // 2 + how_many OR kept <= how_many;

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

-- Returns every piece of every period: [start_ns, end_ns) has one cause. all_ns is that of periods(). `span_id` is the
-- running operation of the device, or the span of the thread that the time belongs to (NULL: no span). `thread` is that
-- thread; NULL: the time is the device's. `waiter` is the thread whose call waits for a copy. Pieces of the device that
-- run underneath others are hidden.
CREATE OR REPLACE TEMP MACRO pieces(wanted_batch, how_many) AS TABLE
  WITH period AS MATERIALIZED (FROM periods(wanted_batch, how_many)),
  -- Adds the longest period before the first one and after the last, and extends to the nearest operation's edge.
  around AS (
    SELECT cause_run(wanted_batch) AS run_id, process, min_by(thread, start_ns) AS thread,
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
    WHERE c.run_id = cause_run(wanted_batch) AND c.level = 5 GROUP BY ALL),
  operation AS MATERIALIZED (
    SELECT o.*, call_ns, called_ns, c.first.span_id AS call_id, c.first.thread AS thread, c.first.type AS call_type,
      c.first.name AS call_name,
      CASE WHEN NOT is_kernel(type) THEN 3 WHEN is_communication(name) THEN 2 ELSE 1 END AS class
    FROM executed o LEFT JOIN call c USING (process, correlation_id)),
  alone AS (
    SELECT process, class, span_id, end_ns, greatest(start_ns, coalesce(max(end_ns) OVER (
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
    SELECT process, start_ns, end_ns, coalesce(span_1, span_2, span_3) AS span_id, false AS is_hidden FROM running
    WHERE coalesce(span_1, span_2, span_3) IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_2, true FROM running WHERE span_1 IS NOT NULL AND span_2 IS NOT NULL
    UNION ALL
    SELECT process, start_ns, end_ns, span_3, true FROM running
    WHERE coalesce(span_1, span_2) IS NOT NULL AND span_3 IS NOT NULL),

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
      fact_of('recorded_by') = 'xsp run' AND fact_of('framework') = 'torch' AS in_python),
  phase_of AS (
    SELECT site_id, max(value) AS phase FROM site_attribute
    WHERE run_id = cause_run(wanted_batch) AND key = 'phase' GROUP BY site_id),
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
  judged AS (
    SELECT * REPLACE (CASE WHEN cause = 'framework' AND level = 3 AND site_id IN (FROM computing) THEN 'host code'
      ELSE cause END AS cause) FROM told),
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
        WHEN class = 2 THEN 'communication' WHEN multiplies THEN 'compute' ELSE 'memory' END AS cause,
      CASE WHEN class = 3 AND NOT is_hidden AND called_ns >= b.end_ns THEN o.thread END AS waiter,
      is_hidden, CASE WHEN is_hidden THEN class ELSE 0 END AS track
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
      ASOF JOIN piece p ON p.process = q.process AND p.track = q.track AND q.start_ns > p.start_ns)
  SELECT process, period_ns, cut_start_ns AS start_ns, cut_end_ns AS end_ns, cause, is_hidden, thread, waiter,
    span_id, all_ns
  FROM cut WHERE cut_end_ns > cut_start_ns;

-- Returns the causes of a recorded step, each with its culprit: a kernel, a call, an operator, a module or a phase.
-- NULL: the time is in no span. `layer` is the layer that the culprit belongs to. time_ns is exclusive, and hidden_ns
-- ran underneath other work. Both are means over the steps, and all time_ns add up to the step in that run. Matrix
-- products are compute, and every other kernel is memory, because the memory's traffic bounds it in general. An
-- operator counts as a computation of the host if its site launches nothing itself and takes more than 50 us of its own
-- on average: in the periods, and in the stretch around them, which is the longest period and extends to the nearest
-- operation that ends or begins there. The work of a data loader is data, wherever it was found.
CREATE OR REPLACE TEMP MACRO recorded_causes(wanted_batch) AS TABLE
  WITH piece AS MATERIALIZED (FROM pieces(wanted_batch, 100)),
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
    SELECT span_id, parent_id, layer_id, level, type, name
    FROM span WHERE run_id = cause_run(wanted_batch) AND span_id IN (SELECT span_id FROM cost)
      AND span_id BETWEEN (SELECT min(span_id) FROM cost) AND (SELECT max(span_id) FROM cost)),
  -- Operators that copy on behalf of another one have the name of the outermost operator that requests the copy.
  asked AS (
    SELECT s.span_id, s.parent_id, s.type FROM span s
    WHERE run_id = cause_run(wanted_batch) AND level = 3 AND type IN ('aten::clone', 'aten::contiguous', 'aten::to',
      'aten::_to_copy', 'aten::reshape') AND EXISTS (FROM found WHERE type = 'aten::copy_')),
  label AS MATERIALIZED (
    SELECT name, kernel_label(name) AS label FROM (SELECT DISTINCT name FROM found WHERE level = 6)),
  told AS MATERIALIZED (
    SELECT f.span_id, f.layer_id,
      CASE f.level WHEN 6 THEN label WHEN 3 THEN coalesce(b.type, a.type, f.type) ELSE name END AS culprit,
      f.level = 2 OR (f.level = 3 AND is_module(f.type)) OR (f.level = 1 AND f.type = 'phase') AS is_vague
    FROM found f LEFT JOIN label USING (name)
      LEFT JOIN asked a ON a.span_id = CASE WHEN f.type = 'aten::copy_' THEN f.parent_id END
      LEFT JOIN asked b ON b.span_id = a.parent_id),
  layer AS (
    SELECT span_id AS layer_id, name AS layer
    FROM span WHERE run_id = cause_run(wanted_batch) AND span_id IN (SELECT layer_id FROM told)
      AND span_id BETWEEN (SELECT min(layer_id) FROM told) AND (SELECT max(layer_id) FROM told)),
  named AS MATERIALIZED (
    SELECT c.*, layer, culprit, coalesce(is_vague, c.span_id IS NULL) AS is_vague
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
    FROM sample LEFT JOIN stack_facts(cause_run(wanted_batch)) f USING (stack_id)
    WHERE run_id = cause_run(wanted_batch) AND state <> 'waiting' GROUP BY ALL),
  looked AS (
    SELECT n.cause, n.culprit, n.layer, n.is_vague, s.state, s.gil, s.waits_in, f.place, f.own_function, f.callee,
      f.writes, f.compiles, f.loads, s.duration_ns, s.system_ns, s.faults, w.threads AS at_work, w.work, w.works_in,
      is_standard, standard_call,
      CASE WHEN s.state <> 'waiting' AND is_of_arithmetic(native_library) THEN native_function END AS arithmetic,
      s.state <> 'waiting' AND is_spinning(coalesce(callee, own_function)) AS spins
    FROM (FROM sample WHERE run_id = cause_run(wanted_batch)) s ASOF JOIN piece p
        ON s.process = p.process AND s.thread = coalesce(p.thread, p.waiter) AND s.time_ns >= p.start_ns
      JOIN named n ON n.process = p.process AND n.cause = p.cause AND n.span_id IS NOT DISTINCT FROM p.span_id
      LEFT JOIN stack_facts(cause_run(wanted_batch)) f USING (stack_id)
      LEFT JOIN at_work w ON w.process = s.process AND w.time_ns = s.time_ns
    WHERE s.time_ns < p.end_ns
      -- A thread that runs without the interpreter's lock is in compiled code. If no frame of that could be read, the
      -- sample tells nothing.
      AND NOT (s.state = 'running' AND s.gil IS NULL AND f.own_function IS NOT NULL AND f.native_library IS NULL
               AND EXISTS (FROM sample WHERE run_id = cause_run(wanted_batch) AND gil = 'held'))
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
    FROM told_of t JOIN faulted f ON f.cause = t.cause AND f.culprit IS NOT DISTINCT FROM t.culprit)
  SELECT CASE WHEN (cause IN ('host code', 'framework') OR (cause = 'compute' AND NOT on_device))
        AND (contains(culprit, 'DataLoader')
             OR layer IN (SELECT name FROM data_layer WHERE run_id = cause_run(wanted_batch)))
      THEN 'data' ELSE cause END AS cause,
    culprit, layer, place, sum(time_ns) AS time_ns, sum(hidden_ns) AS hidden_ns, sum(calls) AS calls
  FROM divided, (
    SELECT EXISTS (FROM span WHERE run_id = cause_run(wanted_batch) AND level = 6 AND device IS NOT NULL) AS on_device)
  GROUP BY ALL;
