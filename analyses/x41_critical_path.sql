-- @id x41
-- @name critical_path
-- @title Critical path of a step
-- @question Which chain of spans decides how long a step takes, from its first moment to its last?
-- The step is the recorded one whose length is nearest to the median: see the analysis steps. In a profiled model it
-- is an inference. At each of its moments, one span holds it up: a kernel while the device works, else the call that
-- launches the next operation, the code before that call, or the call in which its thread waited. These are the causes
-- of the analysis time_of_step. A link is a stretch in which the span and the cause are the same. The links follow
-- each other without a gap or an overlap, so their times add up to the step to the nanosecond. What ran underneath, at
-- the same time as a link, is not on the path: making it shorter does not make the step shorter. The times are those
-- of the run that recorded most, with what recording costs: time_of_step has the shares without it.
-- @needs steps,part
-- @doubts kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table columns=link,start_ns,duration_ns,share_pct,cause,name,layer,at bar=share_pct
-- @column link count Place in the chain, from 0.
-- @column start_ns ns Begin of the link, after the begin of the step.
-- @column duration_ns ns Its length.
-- @column share_pct pct Share of the link in the step.
-- @column cause text What the step waits for meanwhile.
-- @column name text The span; empty: the thread is in no span, or the device is idle by itself.
-- @column layer text The layer of the span; empty: it is in none.
-- @column at text device, or host.
-- @column type text Type of the span.
-- @column level count Its level, from 1, the application, to 6, the kernel.
-- @column span count Its number in the run.
-- @column run count The run that recorded it.
-- @column moment_ns ns Begin of the link, after the first span of the run.
-- @column process count Its process.
-- @column thread count Its thread, or the one that is in no span.
-- @column device count Its device; empty: the host.
-- @column stream count Its stream.
-- @column depth count Its nesting within its level.
WITH length AS (
  SELECT process, period_ns, sum(end_ns - start_ns) AS step_ns FROM period_piece WHERE NOT is_hidden GROUP BY ALL),
step AS (
  SELECT * FROM length
  ORDER BY abs(step_ns - (SELECT quantile_disc(step_ns, 0.5) FROM length)), process, period_ns LIMIT 1),
turn AS (
  SELECT p.*, span_id IS DISTINCT FROM lag(span_id) OVER in_order OR cause IS DISTINCT FROM lag(cause) OVER in_order
      OR p.thread IS DISTINCT FROM lag(p.thread) OVER in_order AS begins
  FROM period_piece p SEMI JOIN step USING (process, period_ns)
  WHERE NOT is_hidden WINDOW in_order AS (ORDER BY start_ns)),
numbered AS (
  SELECT *, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (ORDER BY start_ns) - 1 AS link FROM turn),
chain AS (
  SELECT link, any_value(process) AS process, any_value(period_ns) AS period_ns, any_value(cause) AS cause,
    any_value(span_id) AS span_id, any_value(thread) AS thread, min(start_ns) AS start_ns,
    sum(end_ns - start_ns) AS duration_ns
  FROM numbered GROUP BY link),
first AS (SELECT min(start_ns) AS run_ns FROM span WHERE run_id = cause_run(asked_batch()))
SELECT CAST(link AS BIGINT) AS link, c.start_ns - period_ns AS start_ns, CAST(c.duration_ns AS BIGINT) AS duration_ns,
  pct(c.duration_ns, (SELECT step_ns FROM step)) AS share_pct, cause, s.name, l.name AS layer,
  CASE WHEN s.device IS NOT NULL OR (s.span_id IS NULL AND c.thread IS NULL) THEN 'device' ELSE 'host' END AS at,
  s.type, s.level, s.span_id AS span, cause_run(asked_batch()) AS run, c.start_ns - run_ns AS moment_ns, c.process,
  coalesce(s.thread, c.thread) AS thread, s.device, s.stream, s.depth
FROM chain c CROSS JOIN first LEFT JOIN span s ON s.run_id = cause_run(asked_batch()) AND s.span_id = c.span_id
  LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
ORDER BY link
