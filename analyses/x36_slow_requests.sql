-- @id x36
-- @name slow_requests
-- @title Slow requests
-- @question Why are the slowest 1 % of the requests slow?
-- Each row is a part of a request's latency: its mean over the slowest 1 % of the requests, and over the middle tenth
-- (those whose latency is nearest to the median). The parts add up to the latency, which is the last row. A request
-- waits in the queue while the model answers others: as many answers as were ahead of it, at the length of the median
-- answer, shared by the instances of the model, but not more than it waited (`queue: answers ahead`), and what these
-- answers took beyond that (`queue: long answers ahead`). All figures come from the run that recorded only the requests
-- and the model, as in xsp evaluate. Only what `why` names of layers, calls and kernels comes from deeper runs, where
-- the same requests came at the same times: the layer from the run that recorded the layers, and the kernel, else the
-- library's call, from the one with the most detail. A model's thread that could run and waited for a processor tells
-- of other programs, or of threads of its own. Which program had that processor is not known, because only the
-- system's administrator may ask; the one that is named used more of any processor in the quarters of a second in which
-- slow requests ran. The clock is the processor's, right after the answer, and the GPU's at the end of the block in
-- which the model answered. xsp evaluate has no blocks, so a GPU's clock is not known there: asking for it under load
-- would delay the requests.
-- @needs requests
-- @view bar x=part y=extra_ns
-- @view table columns=part,middle_ns,slow_ns,extra_ns,share_pct,why
-- @column part text Part of the latency.
-- @column middle_ns ns Mean over the middle tenth of the requests.
-- @column slow_ns ns Mean over the slowest 1 % of the requests.
-- @column extra_ns ns What the slow ones take more.
-- @column share_pct pct Share of the latency's extra time.
-- @column why text What the slow ones did that the middle ones did not.
WITH sought AS (
  SELECT run_id, deepest_level(levels) AS deepest, row_number() OVER (ORDER BY deepest, run_id) AS nth FROM run
  WHERE status <> 'failed' AND run_id IN (SELECT run_id FROM span WHERE level = 1 AND type = 'request')),
part AS (
  SELECT run_id, parent_id AS span_id, coalesce(sum(duration_ns) FILTER (name = 'queue'), 0) AS queue_ns,
    coalesce(sum(duration_ns) FILTER (name = 'batch'), 0) AS batcher_ns,
    coalesce(sum(duration_ns) FILTER (name = 'pipeline'), 0) AS pipeline_ns,
    coalesce(sum(duration_ns) FILTER (name = 'output'), 0) AS output_ns
  FROM span WHERE run_id IN (SELECT run_id FROM sought) AND level = 1 AND type = 'part' GROUP BY ALL),
fact AS (
  SELECT run_id, span_id, any_value(try_cast(value AS BIGINT)) FILTER (key = 'request') AS request,
    any_value(try_cast(value AS BIGINT)) FILTER (key = 'batch') AS batch,
    any_value(try_cast(value AS BIGINT)) FILTER (key = 'waited_ns') AS waited_ns,
    any_value(try_cast(value AS BIGINT)) FILTER (key = 'clock_mhz') AS clock_mhz,
    any_value(try_cast(value AS BIGINT)) FILTER (key = 'instance') AS instance
  FROM span_attribute WHERE run_id IN (SELECT run_id FROM sought)
    AND key IN ('request', 'batch', 'waited_ns', 'clock_mhz', 'instance')
  GROUP BY ALL),
request AS MATERIALIZED (
  SELECT s.run_id, o.nth AS nth_run, f.request, f.batch, f.waited_ns, f.clock_mhz, f.instance, s.start_ns,
    s.start_ns + s.duration_ns AS end_ns, s.duration_ns AS latency_ns, coalesce(queue_ns, 0) AS queue_ns,
    coalesce(batcher_ns, 0) AS batcher_ns, coalesce(pipeline_ns, 0) AS pipeline_ns, coalesce(output_ns, 0) AS output_ns,
    s.duration_ns - coalesce(queue_ns + batcher_ns + pipeline_ns + output_ns, 0) AS model_ns,
    row_number() OVER slowest AS rank, count(*) OVER (PARTITION BY s.run_id) AS n
  FROM span s JOIN sought o USING (run_id) LEFT JOIN part USING (run_id, span_id)
    LEFT JOIN fact f USING (run_id, span_id)
  WHERE s.level = 1 AND s.type = 'request'
  WINDOW slowest AS (PARTITION BY s.run_id ORDER BY s.duration_ns DESC, f.request)),
-- The slowest 1 % are at least one, as in xsp evaluate.
chosen AS MATERIALIZED (
  SELECT *, rank <= (n + 99) // 100 AS is_slow FROM request
  WHERE rank <= (n + 99) // 100 OR abs(rank - (n + 1) / 2) <= greatest(0.5, n / 20)),

-- The answers in their order.
answer AS MATERIALIZED (
  SELECT batch, max(end_ns) AS end_ns, max(pipeline_ns + model_ns + output_ns) AS ns, count(*) AS size,
    any_value(instance) AS instance
  FROM request WHERE nth_run = 1 GROUP BY batch),
usual AS (SELECT median(ns) AS ns, greatest(1, count(DISTINCT instance)) AS instances FROM answer),
so_far AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY end_ns, batch) AS answers FROM answer),
-- The answers that ended while a request was in the queue are those that were ahead of it.
ahead AS MATERIALIZED (
  SELECT c.request, is_slow, f.answers - coalesce(b.answers, 0) AS answers,
    greatest(0, c.queue_ns - (f.answers - coalesce(b.answers, 0)) * usual.ns / instances) AS long_ns
  FROM usual, (FROM chosen WHERE nth_run = 1) c
    ASOF JOIN so_far f ON c.start_ns + c.queue_ns >= f.end_ns
    ASOF LEFT JOIN so_far b ON c.start_ns >= b.end_ns
  WHERE c.queue_ns > 0),
longest AS (
  SELECT max(a.ns) AS ns FROM answer a, (SELECT min(start_ns) AS from_ns, max(start_ns + queue_ns) AS until_ns
    FROM chosen WHERE nth_run = 1 AND is_slow AND queue_ns > 0)
  WHERE a.end_ns BETWEEN from_ns AND until_ns),
crowd AS (
  SELECT coalesce(sum(answers) FILTER (is_slow), 0) / slow AS slow_answers,
    coalesce(sum(answers) FILTER (NOT is_slow), 0) / middle AS middle_answers,
    coalesce(sum(long_ns) FILTER (is_slow), 0) / slow AS slow_ns,
    coalesce(sum(long_ns) FILTER (NOT is_slow), 0) / middle AS middle_ns
  FROM (SELECT count(*) FILTER (is_slow) AS slow, count(*) FILTER (NOT is_slow) AS middle
    FROM chosen WHERE nth_run = 1) LEFT JOIN ahead ON true GROUP BY slow, middle),
size AS (
  SELECT avg(size) FILTER (is_slow) AS slow_size, avg(size) FILTER (NOT is_slow) AS middle_size
  FROM chosen c JOIN answer a USING (batch) WHERE nth_run = 1),

-- A deeper run tells which layer, kernel or call of a library takes the most extra time in slow requests.
deeper AS (
  SELECT run_id, nth, 3 AS level, 'layers' AS what FROM sought WHERE nth = 2
  UNION ALL
  SELECT run_id, nth, CASE deepest WHEN 6 THEN 6 ELSE 4 END,
    CASE deepest WHEN 6 THEN 'kernels' ELSE 'calls of libraries' END
  FROM sought WHERE nth = (SELECT max(nth) FROM sought WHERE nth > 2 AND deepest IN (4, 6))),
call AS (
  SELECT run_id, r.batch, s.span_id  -- a model's span names the first request of its batch
  FROM span s JOIN fact f USING (run_id, span_id) JOIN request r USING (run_id, request)
  WHERE run_id IN (SELECT run_id FROM deeper) AND s.level = 2 AND NOT s.is_open),
spent AS (
  SELECT d.level, d.what, l.name,
    sum(l.self_ns) FILTER (is_slow) / (SELECT count(*) FROM chosen WHERE run_id = d.run_id AND is_slow)
      - coalesce(sum(l.self_ns) FILTER (NOT is_slow), 0) / (SELECT count(*) FROM chosen WHERE run_id = d.run_id
        AND NOT is_slow) AS extra_ns
  FROM deeper d JOIN chosen c USING (run_id) JOIN call m ON m.run_id = c.run_id AND m.batch = c.batch
    JOIN span l ON l.run_id = m.run_id AND l.model_id = m.span_id AND l.level = d.level
  GROUP BY d.run_id, d.level, d.what, l.name),
most AS (SELECT level, what, max_by(name, extra_ns) AS name, max(extra_ns) AS ns FROM spent GROUP BY ALL HAVING ns > 0),
extra AS (
  SELECT string_agg(concat('In the run with ', what, ', ', CASE level WHEN 6 THEN kernel_label(name) ELSE name END,
    ' takes the most extra time: ', time_text(ns), '.'), ' ' ORDER BY level) AS text
  FROM most),

-- Programs that used a processor while a request's model ran.
use AS (
  SELECT s.start_ns, s.duration_ns, s.name, sum(c.value) / s.duration_ns AS processors
  FROM span s JOIN span_counter c USING (run_id, span_id)
  WHERE s.run_id = (SELECT run_id FROM sought WHERE nth = 1) AND s.level = 1 AND s.type = 'other program'
    AND c.name = 'cpu_ns' GROUP BY s.start_ns, s.duration_ns, s.name),
period AS (SELECT DISTINCT start_ns, duration_ns FROM use),
in_period AS (
  SELECT c.request, is_slow, p.start_ns FROM (FROM chosen WHERE nth_run = 1) c
    ASOF JOIN period p ON c.end_ns - c.output_ns - c.model_ns / 2 >= p.start_ns),
used AS (
  SELECT name, coalesce(sum(processors) FILTER (is_slow), 0) / any_value(slow_ones) AS slow,
    coalesce(sum(processors) FILTER (NOT is_slow), 0) / any_value(middle_ones) AS middle
  FROM in_period JOIN use USING (start_ns), (SELECT nullif(count(*) FILTER (is_slow), 0) AS slow_ones,
    nullif(count(*) FILTER (NOT is_slow), 0) AS middle_ones FROM in_period) GROUP BY name),
other AS (
  SELECT printf('Meanwhile %s used %.2f processors, and %.2f in a middle one.', max_by(name, slow - middle),
    max_by(slow, slow - middle), max_by(middle, slow - middle)) AS text
  FROM used HAVING max(slow - middle) > 0.05),
-- A clock that is 3 % lower is more than its reading is off.
clock AS (
  SELECT CASE WHEN slow < 0.97 * middle THEN printf('Its processor ran at %.0f MHz, and at %.0f in a middle one.', slow,
    middle) END AS text
  FROM (SELECT avg(clock_mhz) FILTER (is_slow) AS slow, avg(clock_mhz) FILTER (NOT is_slow) AS middle
    FROM chosen WHERE nth_run = 1)),
-- A GPU's clock has steps of 15 MHz.
gpu_clock AS (
  SELECT CASE WHEN slow < 0.97 * middle THEN printf('Its GPU ran at %.0f MHz, and at %.0f in a middle one.', slow,
    middle) END AS text
  FROM (SELECT avg(gpu_sm_clock_mhz) FILTER (is_slow) AS slow, avg(gpu_sm_clock_mhz) FILTER (NOT is_slow) AS middle
    FROM (FROM chosen WHERE nth_run = 1) c ASOF JOIN block b
      ON c.run_id = b.run_id AND c.end_ns - c.output_ns - c.model_ns / 2 >= b.start_ns
    WHERE c.end_ns - c.output_ns - c.model_ns / 2 < b.start_ns + b.duration_ns)),

told AS (
  SELECT avg(latency_ns) FILTER (is_slow) AS slow_latency, avg(latency_ns) FILTER (NOT is_slow) AS middle_latency,
    avg(queue_ns) FILTER (is_slow) AS slow_queue, avg(queue_ns) FILTER (NOT is_slow) AS middle_queue,
    avg(batcher_ns) FILTER (is_slow) AS slow_batcher, avg(batcher_ns) FILTER (NOT is_slow) AS middle_batcher,
    avg(pipeline_ns) FILTER (is_slow) AS slow_pipeline, avg(pipeline_ns) FILTER (NOT is_slow) AS middle_pipeline,
    avg(model_ns) FILTER (is_slow) AS slow_model, avg(model_ns) FILTER (NOT is_slow) AS middle_model,
    avg(waited_ns) FILTER (is_slow) AS slow_waited, avg(waited_ns) FILTER (NOT is_slow) AS middle_waited,
    avg(output_ns) FILTER (is_slow) AS slow_output, avg(output_ns) FILTER (NOT is_slow) AS middle_output,
    count(*) FILTER (is_slow) AS slow, min(latency_ns) FILTER (is_slow) AS least_ns
  FROM chosen WHERE nth_run = 1),
line AS (
  SELECT 1 AS nth, 'queue: answers ahead' AS part, middle_queue - c.middle_ns AS middle_ns,
    slow_queue - c.slow_ns AS slow_ns, printf('%.1f answers were ahead of each, and %.1f of a middle one.',
      slow_answers, middle_answers) AS why FROM told, crowd c
  UNION ALL
  SELECT 2, 'queue: long answers ahead', c.middle_ns, c.slow_ns,
    'The longest answer meanwhile took ' || time_text(l.ns) || ', the median one ' || time_text(u.ns) || '.'
  FROM crowd c, longest l, usual u
  UNION ALL
  SELECT 3, 'batcher', middle_batcher, slow_batcher,
    printf('They were answered in batches of %.1f, and middle ones of %.1f.', slow_size,
    middle_size)
  FROM told, size
  UNION ALL
  SELECT 4, 'pipeline', middle_pipeline, slow_pipeline, NULL FROM told
  UNION ALL
  SELECT 5, 'model', middle_model, slow_model, nullif(concat_ws(' ', CASE WHEN slow_waited > 0.01 * slow_model THEN
    'Its thread waited ' || time_text(slow_waited) || ' for a processor that other threads had, and '
    || time_text(middle_waited) || ' in a middle one.' END, (SELECT text FROM other), (SELECT text FROM clock),
    (SELECT text FROM gpu_clock), text), '')
  FROM told, extra
  UNION ALL
  SELECT 6, 'output', middle_output, slow_output, 'These are the steps behind the model.'
  FROM told WHERE slow_output > 0
  UNION ALL
  SELECT 7, 'latency', middle_latency, slow_latency,
    printf('%d request%s took %s or more.', t.slow, CASE WHEN t.slow = 1 THEN '' ELSE 's' END, time_text(least_ns))
  FROM told t)
SELECT part, middle_ns, slow_ns, slow_ns - middle_ns AS extra_ns,
  100 * (slow_ns - middle_ns) / (SELECT nullif(slow_latency - middle_latency, 0) FROM told) AS share_pct, why
FROM line ORDER BY nth
