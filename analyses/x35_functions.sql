-- @id x35
-- @name functions
-- @title Functions and lines
-- @question Which functions and lines of the program took the most time of its threads?
-- Every sample of the threads counts, including warm-up and samples outside of all steps, so this analysis also works
-- for programs that repeat nothing. A thread's time belongs to the innermost line of the program's own code, including
-- the time of the functions that the line called (`calls` is the one with most of the time). The time of a thread
-- without Python belongs to the innermost function with a name, or to its library. Waiting counts only in the thread
-- that began the process, because other threads may wait for work. Processes of one program are one row, such as the
-- ranks of a training. flame_graph has the stacks.
-- @needs samples
-- @param top integer 20 The number of lines: those with the most time.
-- @view table columns=program,processes,function,place,calls,time_ns,share_pct,waiting_ns bar=share_pct top=20
-- @column program text Program of the processes.
-- @column processes count Number of processes of this program that were at this line.
-- @column function text Name of the function.
-- @column place text Line of the function; empty: not known.
-- @column calls text The function that the line called in most of the time; empty: the function itself.
-- @column time_ns ns Time of the threads at this line, including waiting.
-- @column share_pct pct Share of time_ns in the time of all these threads.
-- @column waiting_ns ns Part of time_ns in which the threads waited.
-- @column running_pct pct Share of the line in the time in which the threads ran and did not wait.
WITH program AS (
  SELECT process, max_by(name, start_ns) AS name FROM span WHERE level = 1 AND type = 'process' GROUP BY process),
looked AS (
  SELECT s.process, coalesce(own_function, callee, native_library,
      CASE WHEN s.stack_id IS NULL THEN 'not known' ELSE 'a library' END) AS function, place,
    CASE WHEN own_function IS NOT NULL THEN callee END AS callee, s.duration_ns, s.state = 'waiting' AS is_waiting
  FROM sample s LEFT JOIN (SELECT r.run_id, f.* FROM run r, LATERAL (FROM stack_facts(r.run_id)) f) f
    ON f.run_id = s.run_id AND f.stack_id = s.stack_id
  WHERE s.state <> 'waiting' OR s.thread = s.process),
line AS (
  SELECT program, count(DISTINCT process) AS processes, function, place, max_by(callee, called_ns) AS calls,
    sum(one_ns) AS time_ns, sum(waiting_ns) AS waiting_ns
  FROM (
    SELECT *, sum(one_ns) OVER (PARTITION BY program, function, place, callee) AS called_ns FROM (
      SELECT p.name AS program, process, function, place, callee, sum(duration_ns) AS one_ns,
        coalesce(sum(duration_ns) FILTER (is_waiting), 0) AS waiting_ns
      FROM looked LEFT JOIN program p USING (process) GROUP BY ALL))
  GROUP BY program, function, place)
SELECT program, processes, function, place, calls, time_ns, pct(time_ns, sum(time_ns) OVER ()) AS share_pct,
  waiting_ns, pct(time_ns - waiting_ns, sum(time_ns - waiting_ns) OVER ()) AS running_pct
FROM line
ORDER BY time_ns DESC, function, place, program LIMIT $top
