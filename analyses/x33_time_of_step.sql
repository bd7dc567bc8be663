-- @id x33
-- @name time_of_step
-- @title Time of a step
-- @question How is the time of a step divided by cause, and which code is responsible for each part?
-- A step is the unit that the program repeats, from one start to the next: see the analysis steps. In a profiled model
-- it is an inference. Each nanosecond has one cause. While the device works, the causes are compute (matrix products),
-- other kernels (which the memory bounds in general), communication, and copy. While the device is idle, the cause is
-- the activity of the thread that launches next. These causes are launch (its call, until the operation begins), copy
-- preparation, framework (inside an operator or a library), host code (the program's own code, and operators that
-- compute on the host), data (loading a batch), allocation, synchronisation, and recording (the profiler itself).
-- synchronisation means that the thread stood in a blocking call when the queue became empty. It gets as much of the
-- gap as the thread stood in the call, because the next work would have been launched that much earlier. It is
-- allocation instead if the call allocates or frees. device is a gap although the next operation was queued. unknown is
-- the time of a model on a device of which no kernels were recorded. Without a device, the causes follow the thread
-- that carries the step, and compute is its operators. If threads were sampled, the samples divide the host's time
-- further. These causes are compilation, input/output, waiting (for the interpreter's lock, by spinning, or for threads
-- of its own which run meanwhile), descheduled (the thread could run, but had no processor), and compute, if the
-- program's own code is in a library of linear algebra. The shares are those of the typical steps of the run that
-- recorded most. The time that recording added there is subtracted from launching and the framework, so that all causes
-- add up to the step of the run that recorded least, or to the model's latency. Time that ran underneath something else
-- is hidden.
-- @needs steps,part
-- @doubts kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view causes
-- @view table columns=cause,culprit,place,layer,layers,time_ns,share_pct,hidden_ns bar=share_pct top=20 largest=time_ns
-- @column cause text The cause; step: all causes together.
-- @column culprit text The kernel, call, operator, module or phase; empty: the time is in no span.
-- @column place text The line of the program's own code where its thread spent most of that time; empty: no samples.
-- @column layer text The layer that the time belongs to; of several layers, the one with the most time.
-- @column layers count Number of layers that the time belongs to.
-- @column time_ns ns Exclusive time in a typical step.
-- @column share_pct pct Share of time_ns in the step.
-- @column hidden_ns ns Time that ran underneath something else; it is not in time_ns.
WITH part AS MATERIALIZED (FROM step_cause),
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
