-- @needs watched
-- These tables hold what the threads of a watched program do. They are loaded after prelude_5_steps.sql.

-- The steps of the program, on the host.
CREATE OR REPLACE TEMP TABLE finding_steps AS FROM whole_step;
-- The place where the processes that prepare batches wait for a lock, and the share of their working time that they
-- wait.
CREATE OR REPLACE TEMP TABLE finding_lock AS
  WITH busy AS (
    SELECT s.duration_ns, f.place, f.own_function, s.state = 'waiting' AND s.waits_in = 'futex' AS is_waiting
    FROM sample s JOIN stack_facts(finding_run_id()) f USING (stack_id)
    WHERE s.run_id = finding_run_id() AND s.thread = s.process AND f.place IS NOT NULL
      AND coalesce(s.waits_in, '') NOT IN ('poll', 'select', 'epoll_wait')
      AND s.process NOT IN (SELECT process FROM finding_steps))
  SELECT sum(duration_ns) FILTER (is_waiting) / sum(duration_ns) AS share,
    mode(own_function) FILTER (is_waiting) AS own_function, mode(place) FILTER (is_waiting) AS place
  FROM busy HAVING sum(duration_ns) FILTER (is_waiting) > 0.5 * sum(duration_ns);

-- The number of threads of all processes that run while the thread of a step is in a library of arithmetic, and the
-- number of processors for them.
CREATE OR REPLACE TEMP TABLE finding_arithmetic AS
  WITH looked AS (
    SELECT process, time_ns, count(*) FILTER (state <> 'waiting') AS at_work,
      any_value(duration_ns) FILTER (s.thread IN (SELECT thread FROM finding_steps) AND state <> 'waiting'
        AND is_of_arithmetic(native_library)) AS ns
    FROM sample s LEFT JOIN stack_facts(finding_run_id()) f USING (stack_id)
    WHERE s.run_id = finding_run_id() GROUP BY ALL)
  SELECT sum(at_work * ns) / sum(ns) * count(DISTINCT process) FILTER (ns IS NOT NULL) AS threads,
    try_cast(fact_of('processors_usable') AS INTEGER) AS processors
  FROM looked HAVING sum(ns) > 0;

-- While the thread of a step waits, another thread of its process waits for a lock (locks), does something (works), or
-- waits for work (neither). The table holds the time of these threads by place.
CREATE OR REPLACE TEMP TABLE finding_meanwhile AS
  WITH facts AS MATERIALIZED (FROM stack_facts(finding_run_id())),
  looked AS (
    SELECT process, thread, time_ns, s.duration_ns, blame_text(coalesce(own_function, callee), NULL, place) AS work,
      coalesce(gil = 'waited', false) OR (state = 'waiting' AND coalesce(waits_in = 'futex', false)) AS waits,
      coalesce(gil = 'waited', false) OR (state = 'waiting' AND coalesce(locks, false)) AS locks,
      state = 'waiting' AND coalesce(waits_in, '') IN ('poll', 'select', 'epoll_wait') AS is_idle
    FROM sample s LEFT JOIN facts USING (stack_id) WHERE run_id = finding_run_id())
  SELECT o.work, o.locks, NOT (o.waits OR o.is_idle) AS works, sum(o.duration_ns) AS ns
  FROM (FROM looked WHERE waits AND thread IN (SELECT thread FROM finding_steps)) w
    JOIN looked o ON o.process = w.process AND o.time_ns = w.time_ns AND o.thread <> w.thread
  GROUP BY ALL;
-- Returns the share of the time of these threads, except waiting for work, in which they wait for a lock. NULL: there
-- are no such threads.
CREATE OR REPLACE TEMP MACRO locked_share() AS (
  SELECT sum(CASE WHEN locks THEN ns ELSE 0 END) / sum(ns) FROM finding_meanwhile WHERE locks OR works);
