-- @id x10
-- @name gpu_idle
-- @title Idle time of the GPU
-- @question How much of an inference is the GPU without a kernel, and why?
-- Busy is the union of the kernels' times over all streams. Every moment outside it has the first of these causes
-- that holds: `copies`, the device copies or sets memory, or the host is in a call that does; `device`, the next kernel
-- had been launched before the last one ended (nodes of a graph, dependencies between streams, the device's own
-- delay); `launch`, the call that launches the next kernel has begun; `synchronization`, the host waits for the device;
-- `allocation`; `profiler`; and else `host`, which runs code of its own. All of that is in the run that recorded the
-- kernels; the last row is how much longer an inference took there than in the model-only run.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param inferences integer 200 How many inferences to look at, at most, spread evenly.
-- @view pie label=cause value=duration_ns
-- @view table caption=batch,inferences columns=cause,duration_ns,share_pct,idle_share_pct bar=share_pct
-- @column batch count Inputs per inference.
-- @column inferences count Inferences that were looked at.
-- @column cause text busy, or why it was not; slower when recorded.
-- @column duration_ns ns Mean in one inference.
-- @column share_pct pct Share of the inference, as it was recorded.
-- @column idle_share_pct pct Share of the idle time.
WITH inference AS MATERIALIZED (
  FROM some_inferences(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
inside AS MATERIALIZED (FROM activity(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
kernel AS (
  SELECT iteration, start_ns, correlation_id,
    max(end_ns) OVER (PARTITION BY iteration ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      AS covered_ns
  FROM inside WHERE level = 6 AND is_kernel(type)),
launch AS (
  SELECT iteration, correlation_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
  FROM inside WHERE level = 5 AND correlation_id IS NOT NULL GROUP BY ALL),
gap AS (
  SELECT k.iteration, coalesce(covered_ns, i.start_ns) AS start_ns, k.start_ns AS end_ns,
    l.start_ns AS launch_start_ns, l.end_ns AS launch_end_ns
  FROM kernel k JOIN inference i USING (iteration) LEFT JOIN launch l USING (iteration, correlation_id)
  WHERE k.start_ns > coalesce(covered_ns, i.start_ns)),
interval AS (
  SELECT iteration, start_ns, end_ns, CASE
      WHEN level = 6 AND is_kernel(type) THEN 1 WHEN level = 6 THEN 2
      WHEN type IN ('launch', 'graph_launch') THEN 4 WHEN type = 'synchronization' THEN 5
      WHEN type IN ('copy', 'memset') THEN 6 WHEN type = 'allocation' THEN 7 WHEN type = 'overhead' THEN 8 END AS class
  FROM inside
  UNION ALL
  SELECT iteration, start_ns, end_ns, 3 FROM gap WHERE launch_end_ns <= start_ns
  UNION ALL
  SELECT iteration, greatest(launch_start_ns, start_ns), end_ns, 4 FROM gap
  WHERE launch_end_ns > start_ns AND launch_start_ns < end_ns
  UNION ALL
  SELECT iteration, start_ns, end_ns, 9 FROM inference),
edge AS (
  SELECT iteration, at_ns, class, sum(step) AS step FROM (
    SELECT iteration, start_ns AS at_ns, class, 1 AS step FROM interval WHERE end_ns > start_ns AND class IS NOT NULL
    UNION ALL
    SELECT iteration, end_ns, class, -1 FROM interval WHERE end_ns > start_ns AND class IS NOT NULL)
  GROUP BY ALL),
moment AS (
  SELECT iteration, at_ns, list_transform(range(1, 10), lambda c: coalesce(map_extract_value(steps, c), 0)) AS steps
  FROM (SELECT iteration, at_ns, map_from_entries(list({'k': CAST(class AS BIGINT), 'v': step})) AS steps
        FROM edge GROUP BY iteration, at_ns)),
segment AS (
  SELECT lead(at_ns) OVER sweep - at_ns AS duration_ns, sum(steps[1]) OVER sweep AS kernels,
    sum(steps[2]) OVER sweep AS copies, sum(steps[3]) OVER sweep AS queued, sum(steps[4]) OVER sweep AS launches,
    sum(steps[5]) OVER sweep AS waits, sum(steps[6]) OVER sweep AS copy_calls, sum(steps[7]) OVER sweep AS allocations,
    sum(steps[8]) OVER sweep AS overheads
  FROM moment WINDOW sweep AS (PARTITION BY iteration ORDER BY at_ns)),
cause AS (
  SELECT CASE WHEN kernels > 0 THEN 'busy' WHEN copies + copy_calls > 0 THEN 'copies' WHEN queued > 0 THEN 'device'
      WHEN launches > 0 THEN 'launch' WHEN waits > 0 THEN 'synchronization' WHEN allocations > 0 THEN 'allocation'
      WHEN overheads > 0 THEN 'profiler' ELSE 'host' END AS cause,
    sum(duration_ns) / (SELECT count(*) FROM inference) AS duration_ns
  FROM segment WHERE duration_ns IS NOT NULL GROUP BY cause),
line AS (
  SELECT cause = 'busy' AS is_busy, cause, duration_ns, pct(duration_ns, sum(duration_ns) OVER ()) AS share_pct,
    CASE WHEN cause <> 'busy' THEN pct(duration_ns, sum(duration_ns) FILTER (cause <> 'busy') OVER ()) END
      AS idle_share_pct
  FROM cause
  UNION ALL
  SELECT NULL, 'slower when recorded',
    (SELECT trimmed_mean(list_sort(list(end_ns - start_ns))) FROM inference) - trimmed_mean(sorted), NULL, NULL
  FROM model_latency WHERE batch = (SELECT any_value(batch) FROM inference))
SELECT (SELECT any_value(batch) FROM inference) AS batch, (SELECT count(*) FROM inference) AS inferences, cause,
  duration_ns, share_pct, idle_share_pct
FROM line
ORDER BY is_busy DESC NULLS LAST, duration_ns DESC
