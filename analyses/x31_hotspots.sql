-- @id x31
-- @name hotspots
-- @title Time by name
-- @question Which spans of each level took the most time, in whatever program?
-- Every span that ended counts, including warm-up and spans outside of all models, so this analysis also works for
-- programs that repeat nothing. warmup_pct is the share of warm-up. Each level is taken from the run that recorded the
-- least below it, because deeper levels slow it. Own time leaves out the time of the spans inside. On a device, where
-- nothing nests, it is the whole time. The share is relative to the own time of all spans of the level, including
-- those that are not shown. Layers whose names differ only by their shapes ("conv", "conv#2") are one row. If a device
-- ran, device_ns and span_ns of a model and of layers are means over the typical inferences of the kernel run.
-- @needs whole
-- @param batch integer - The batch size; by default the smallest that was recorded.
-- @param level text - The only level to show, such as kernel; by default all levels.
-- @param top integer 10 The number of names of each level: those with the most own time.
-- @view table columns=level,type,name,calls,own_ns,share_pct,warmup_pct,total_ns,median_ns,max_ns,device_ns top=100
-- @column level text Level of the spans.
-- @column type text Type of the spans.
-- @column name text Name of the spans.
-- @column calls count Number of spans.
-- @column own_ns ns Own time of the spans.
-- @column share_pct pct Share of own_ns in the own time of the level.
-- @column warmup_pct pct Part of own_ns that was spent in warm-up.
-- @column total_ns ns Time of the spans, with the spans inside them.
-- @column median_ns ns Median time of a span.
-- @column max_ns ns Time of the longest span.
-- @column device_ns ns Device time of the work of a model's call or a layer; empty: not recorded.
-- @column span_ns ns Time from its first launch to its own end or the end of its work, the later; empty: no launch.
WITH recorded AS (
  SELECT run_id, coalesce(batch, 1) AS batch, deepest_level(levels) AS deepest FROM run
  WHERE status <> 'failed' AND NOT has_counters(counters)),
told AS (
  SELECT DISTINCT run_id, level FROM span WHERE NOT is_open),
chosen AS (
  SELECT r.run_id, t.level FROM recorded r JOIN told t USING (run_id)
  WHERE r.batch = coalesce($batch, (SELECT min(batch) FROM recorded))
    AND ($level IS NULL OR t.level = level_number($level))
  QUALIFY row_number() OVER (PARTITION BY t.level ORDER BY r.deepest, r.run_id) = 1),
-- The device's time in one execution. Calls of several models are not distinguished.
device AS (
  SELECT 'layer' AS level, regexp_replace(name, '#[0-9]+$', '') AS name,
    sum(device_ns) / sum(per_inference) AS device_ns, sum(span_ns) / sum(per_inference) AS span_ns
  FROM layer_device_time WHERE of = 'layer' GROUP BY ALL
  UNION ALL
  SELECT 'model', (SELECT any_value(name) FROM span WHERE level = 2 HAVING count(DISTINCT name) = 1), device_ns, span_ns
  FROM model_device_time WHERE batch = coalesce($batch, (SELECT min(batch) FROM recorded))),
spot AS (
  SELECT level_name(level) AS level, type, plain_name AS name, count(*) AS calls,
    sum(CASE WHEN device IS NULL THEN self_ns ELSE duration_ns END) AS own_ns,
    pct(own_ns, sum(own_ns) OVER (PARTITION BY span.level)) AS share_pct,
    pct(coalesce(sum(CASE WHEN device IS NULL THEN self_ns ELSE duration_ns END) FILTER (iteration < 0), 0), own_ns)
      AS warmup_pct, sum(duration_ns) AS total_ns,
    median(duration_ns) AS median_ns, max(duration_ns) AS max_ns
  FROM (
      SELECT *, CASE WHEN level = 3 THEN regexp_replace(name, '#[0-9]+$', '') ELSE name END AS plain_name
      FROM span) span
    JOIN chosen USING (run_id, level)
  WHERE NOT is_open
  GROUP BY span.level, type, plain_name
  QUALIFY row_number() OVER (PARTITION BY span.level ORDER BY own_ns DESC, plain_name) <= $top)
SELECT spot.*, device_ns, span_ns FROM spot LEFT JOIN device USING (level, name)
ORDER BY level_number(level), own_ns DESC, name, type
