-- @id x31
-- @name hotspots
-- @title Where the time goes, by name
-- @question Which spans of each level took the most time, whatever the program did?
-- Every span that ended counts, warm-up and what is in no model too, so this answers for programs in which nothing
-- repeats, as well; warmup_pct says how much of it was warm-up. Each level is told from the run that recorded the least
-- below it, as deeper levels slow it. Own time leaves out what the spans inside took; on a device, where nothing nests,
-- it is all of it. The share is of the own time of all spans of the level, those that are not shown too. Layers that
-- share a name but for their shapes ("conv", "conv#2") are one here. Where a device ran, device_ns and span_ns of a
-- model and of layers are means over the typical inferences of the kernel run.
-- @param batch integer - The batch size; by default the smallest that was recorded.
-- @param level text - One level alone, such as kernel.
-- @param top integer 10 How many names of each level, those with the most own time.
-- @view table columns=level,type,name,calls,own_ns,share_pct,warmup_pct,total_ns,median_ns,max_ns,device_ns top=100
-- @column level text The level.
-- @column type text The type of the spans.
-- @column name text Their name.
-- @column calls count How many.
-- @column own_ns ns Their own time.
-- @column share_pct pct Its share of the own time of the level.
-- @column warmup_pct pct Part of own_ns that was spent in warm-up.
-- @column total_ns ns Their time, with what ran inside them.
-- @column median_ns ns Median of one.
-- @column max_ns ns The longest.
-- @column device_ns ns Of a model's call or a layer: time of the device in what one launched; empty: not recorded.
-- @column span_ns ns From its first launch to the last end of its work, or its own end; empty: it launched nothing.
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
  FROM layer_device_times($batch) WHERE of = 'layer' GROUP BY ALL
  UNION ALL
  SELECT 'model', (SELECT any_value(name) FROM span WHERE level = 2 HAVING count(DISTINCT name) = 1), device_ns, span_ns
  FROM model_device_times() WHERE batch = coalesce($batch, (SELECT min(batch) FROM recorded))),
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
