-- @id x3
-- @name audit
-- @title Audit
-- @question Does everything that was measured add up, and what was lost?
-- This analysis is the conservation check of the whole file, with every run in it. A check that cannot be made has the
-- status `not measured`.
-- @view table columns=audit,status,count,detail top=100
-- @column audit text Name of the check.
-- @column status text Result of the check: ok, not ok, or not measured.
-- @column count count Number of violations; if the check is ok, the number of deviations within bounds.
-- @column detail text Explanation of the result.
WITH fact AS (
  SELECT name, sum(value) AS value, max(value) AS largest
  FROM (VALUES ('spans'), ('unattributed'), ('ambiguous'), ('clipped'), ('clipped_max_ns'), ('overlapping'),
               ('launches'), ('executions'), ('launches_unmatched'), ('executions_unmatched')) t(name)
    LEFT JOIN audit_fact USING (name)
  GROUP BY name),
kept AS (SELECT count(*) AS rows FROM span WHERE run_id IN (SELECT run_id FROM audit_fact)),
-- The spans that xsp condense left out, and how many of them the checks below would have counted.
left_out AS (
  SELECT coalesce(sum(value) FILTER (name = 'condensed_spans'), 0) AS spans,
    coalesce(sum(value) FILTER (name = 'condensed_outside'), 0) AS outside,
    coalesce(sum(value) FILTER (name = 'condensed_idle_calls'), 0) AS idle_calls,
    coalesce(sum(value) FILTER (name = 'condensed_inferences'), 0) AS inferences
  FROM audit_fact),
child AS (
  SELECT count(*) AS children, count(*) FILTER (
      c.start_ns < p.start_ns OR c.start_ns + c.duration_ns > p.start_ns + p.duration_ns) AS outside
  FROM span c JOIN span p ON p.run_id = c.run_id AND p.span_id = c.parent_id
  WHERE c.device IS NULL),
model AS (
  SELECT run_id, model_id, sum(self_ns) AS selves_ns,
    max(duration_ns) FILTER (level = 2 AND span_id = model_id) AS duration_ns
  FROM span WHERE model_id IS NOT NULL AND device IS NULL GROUP BY run_id, model_id
  HAVING count(*) > 1 OR (SELECT spans FROM left_out) = 0 OR sum(self_ns) = max(duration_ns)),
conserved AS (
  SELECT count(*) AS models, count(*) FILTER (selves_ns < duration_ns OR duration_ns IS NULL) AS missing,
    pct(sum(selves_ns - duration_ns), sum(duration_ns)) AS overlap_pct
  FROM model),
outside AS (SELECT count(*) + (SELECT outside FROM left_out) AS count FROM spans_outside()),
idle_call AS (SELECT count(*) + (SELECT idle_calls FROM left_out) AS count FROM idle_calls()),
inferences AS (
  SELECT r.run_id, any_value(r.iterations) - coalesce((SELECT sum(value) FROM audit_fact f
      WHERE f.run_id = r.run_id AND f.name = 'condensed_inferences'), 0) AS wanted, count(s.span_id) AS found
  FROM run r LEFT JOIN span s ON s.run_id = r.run_id AND s.level = 2 AND s.depth = 0 AND s.iteration >= 0
  WHERE r.status <> 'failed' AND list_contains(string_split(r.levels, ','), 'model')
  GROUP BY r.run_id),
line AS (
  SELECT 1 AS line, 'runs measured' AS audit, count(*) FILTER (status <> 'ok') AS bad,
    count(*) FILTER (status <> 'ok') AS count,
    coalesce(string_agg(concat('run ', run_id, ' (', levels, ') ', status, ': ', reason), '; ' ORDER BY run_id)
             FILTER (status <> 'ok'), concat('all ', count(*), ' runs to their end')) AS detail
  FROM run
  UNION ALL
  SELECT 1.2, 'latencies settled', coalesce(sum(number), 0), coalesce(sum(number), 0),
    coalesce(string_agg(concat('batch ', batch, ', ', levels, ': ', doubt), '; ' ORDER BY batch, levels),
             'every interval is as narrow as it was wanted, or none was wanted')
  FROM (SELECT batch, doubt, count(*) AS number, string_agg(level_name(level), ', ' ORDER BY level) AS levels
        FROM level_doubt WHERE kind = 'unsettled' GROUP BY ALL)
  UNION ALL
  SELECT 1.4, 'levels undistorted', count(*), count(*),
    coalesce(string_agg(concat('batch ', batch, ': ', doubt), '; ' ORDER BY batch, doubt),
             concat('recording no level changed the latency by more than half',
               CASE WHEN EXISTS (FROM recording_effect WHERE half_ns IS NULL)
                 THEN '; whether it shortened it, too few blocks tell' ELSE ', or shortened it' END,
               '; no other program took much'))
  FROM (SELECT DISTINCT batch, doubt FROM level_doubt WHERE kind IN ('distorted', 'disturbed'))
  UNION ALL
  SELECT 1.6, 'levels with runs of their own', count(*), count(*),
    coalesce(string_agg(concat('batch ', batch, ': ', doubt), '; ' ORDER BY batch, level),
             'no level is told from a run that recorded a deeper one')
  FROM level_doubt WHERE kind = 'combined'
  UNION ALL
  SELECT 2, 'inferences recorded', sum(CAST(found <> wanted AS INTEGER)), sum(abs(found - wanted)),
    concat(sum(found), ' of ', sum(wanted), ' in ', count(*), ' runs',
           CASE WHEN any_value(left_out.inferences) > 0
                THEN concat('; xsp condense left out ', any_value(left_out.inferences)) END)
  FROM inferences, left_out
  UNION ALL
  SELECT 2.5, 'levels recorded to the end', count(*), count(*),
    (SELECT value FROM evaluation WHERE key = 'note.size')
  FROM run WHERE stopped_by = 'size' HAVING count(*) > 0
  UNION ALL
  SELECT 3, 'records lost', coalesce(sum(count), 0), coalesce(sum(count), 0),
    coalesce(string_agg(concat(count, ' in ', source, ' (', cause, ')'), '; '), 'none, by any source')
  FROM (SELECT source, cause, sum(count) AS count FROM loss WHERE count > 0 GROUP BY ALL ORDER BY count DESC)
  UNION ALL
  SELECT 4, 'traces closed', count(*) FILTER (value = 0), count(*) FILTER (value = 0),
    concat(count(*) FILTER (value = 1), ' of ', count(*), ' traces are whole')
  FROM audit_fact WHERE name = 'trace_complete'
  UNION ALL
  SELECT 5, 'spans ended', count(*) FILTER (is_open), count(*) FILTER (is_open),
    concat(count(*) FILTER (NOT is_open), ' ended, ', count(*) FILTER (is_open),
           ' were open when their process ended') FROM span
  UNION ALL
  SELECT 6, 'spans kept', abs(value - rows - spans), abs(value - rows - spans),
    concat(rows, ' rows for ', value, ' spans of the traces',
           CASE WHEN spans > 0 THEN concat('; xsp condense left out ', spans) END)
  FROM fact, kept, left_out WHERE name = 'spans'
  UNION ALL
  SELECT 7, 'spans with a parent', value - least(value, outside.count), value - least(value, outside.count),
    concat(CASE WHEN value <= outside.count THEN 'every span below the level model has one'
                ELSE 'spans below the level model that nothing holds: unattributed' END,
           CASE WHEN outside.count > 0 THEN
             concat('; ', outside.count, ' more outside of the inferences or the profiler''s own') END)
  FROM fact, outside WHERE name = 'unattributed'
  UNION ALL
  SELECT 8, 'parents without doubt', value, value,
    CASE value WHEN 0
      THEN 'no clock jitter left any in doubt' ELSE 'parents that clock jitter left in doubt' END
  FROM fact WHERE name = 'ambiguous'
  UNION ALL
  SELECT 9, 'children inside parents', greatest(outside - value, 0), outside,
    concat(children, ' children; ', outside, ' stick out', CASE WHEN outside > 0 THEN
           concat(', by at most ', (SELECT largest FROM fact WHERE name = 'clipped_max_ns'), ' ns') END)
  FROM child, fact WHERE name = 'clipped'
  UNION ALL
  SELECT 10, 'neighbours apart', value, value, CASE value WHEN 0
      THEN 'no two spans of one thread overlap without nesting'
      ELSE 'pairs of spans of one thread overlap without nesting' END
  FROM fact WHERE name = 'overlapping'
  UNION ALL
  SELECT 11, 'own times sum to the whole', missing, missing,
    concat(models, ' inferences, those of the warm-up too', CASE WHEN overlap_pct > 0.0005
           THEN printf('; %.3f %% more than the whole, as children overlap', overlap_pct) END)
  FROM conserved
  UNION ALL
  SELECT 12, 'launches that executed', value - least(value, idle_call.count), value - least(value, idle_call.count),
    concat((SELECT value FROM fact WHERE name = 'launches') - idle_call.count, ' launches, ',
           (SELECT value FROM fact WHERE name = 'executions'), ' executions; without execution: ',
           value - least(value, idle_call.count))
  FROM fact, idle_call WHERE name = 'launches_unmatched' AND why_no_level('kernel') IS NULL
  UNION ALL
  SELECT 13, 'executions that were launched', value, value, concat('without launch: ', value)
  FROM fact WHERE name = 'executions_unmatched' AND why_no_level('kernel') IS NULL
  UNION ALL
  SELECT 12, 'launches that executed', NULL, NULL, why_no_level('kernel')
  WHERE why_no_level('kernel') IS NOT NULL)
SELECT audit, CASE WHEN bad IS NULL THEN 'not measured' WHEN bad = 0 THEN 'ok' ELSE 'not ok' END AS status,
  count, CASE WHEN bad IS NULL AND line < 12 THEN 'no trace was counted' ELSE detail END AS detail
FROM line
ORDER BY line
