-- @id x33
-- @name time_of_step
-- @title Time of a step
-- @question What is a step's time made of, and who is to blame for each part of it?
-- A step is what the program repeats, from one start to the next: see the analysis steps; of a profiled model it is an
-- inference. Each nanosecond has one cause. While the device works: compute (matrix products), memory (all other
-- kernels, which the memory bounds in general), communication, copy. While it is idle, what the thread that launches
-- next was doing: launch (its call, until the operation begins), copy preparation, framework (inside an operator or a
-- library), host code (the program's own, and operators that compute on the host), data (loading a batch), allocation,
-- synchronisation (the thread stood in a blocking call when the queue ran dry: as much of the gap as it stood there,
-- for so much earlier the next work would have been launched; allocation, if the call allocates or frees), recording
-- (the profiler itself); device is a gap although the next operation was queued. Without a device it is the thread that
-- carries the step, and compute is its operators. Where threads were sampled, the samples divide the host's time
-- further: compilation, input/output, waiting (for the interpreter's lock, by spinning, or for threads of its own which
-- run meanwhile), descheduled (it could run, and had no processor), and compute, where the program's own code is
-- in a library of linear algebra. The shares are those of the typical steps of the run that recorded most; what
-- recording added there is taken off launching and the framework, so that all add up to the step of the run that
-- recorded least, or to the model's latency. What ran underneath something else is hidden.
-- @needs steps
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view causes
-- @view table columns=cause,culprit,place,layer,layers,time_ns,share_pct,hidden_ns bar=share_pct top=20
-- @column cause text The cause; step: all of them.
-- @column culprit text The kernel, call, operator, module or phase; empty: the time is in no span.
-- @column place text The line of the program's own code where its thread was most of that time; empty: not sampled.
-- @column layer text The layer that it belongs to; of several, the one with the most time.
-- @column layers count How many layers it belongs to.
-- @column time_ns ns Exclusive time in a typical step.
-- @column share_pct pct Share of the step.
-- @column hidden_ns ns Time that ran underneath something else, and is not in time_ns.
WITH part AS MATERIALIZED (FROM step_causes(CAST($batch AS INTEGER))),
cause_time AS (SELECT cause, sum(time_ns) AS cause_ns FROM part GROUP BY cause),
line AS (
  SELECT cause, culprit, max_by(place, time_ns) AS place, max_by(layer, time_ns) AS layer,
    count(DISTINCT layer) AS layers, sum(time_ns) AS time_ns,
    sum(hidden_ns) AS hidden_ns
  FROM part GROUP BY cause, culprit
  UNION ALL
  SELECT 'step', NULL, NULL, NULL, NULL, sum(time_ns), sum(hidden_ns) FROM part HAVING count(*) > 0)
SELECT cause, culprit, place, layer, layers, time_ns,
  pct(time_ns, (SELECT time_ns FROM line WHERE cause = 'step')) AS share_pct, hidden_ns
FROM line LEFT JOIN cause_time USING (cause)
ORDER BY cause = 'step', cause_ns DESC, cause, time_ns DESC, hidden_ns DESC, culprit, layer
