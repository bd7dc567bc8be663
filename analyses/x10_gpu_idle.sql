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
-- @view pie label=cause value=duration_ns of=share_pct
-- @view table caption=batch,inferences columns=cause,duration_ns,share_pct,idle_share_pct bar=share_pct
-- @column batch count Inputs per inference.
-- @column inferences count Inferences that were looked at.
-- @column cause text busy, or why it was not; slower when recorded.
-- @column duration_ns ns Mean in one inference.
-- @column share_pct pct Share of the inference, as it was recorded.
-- @column idle_share_pct pct Share of the idle time.
WITH cause AS MATERIALIZED (FROM device_causes(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
line AS (
  SELECT batch, inferences, cause = 'busy' AS is_busy, cause, duration_ns,
    pct(duration_ns, sum(duration_ns) OVER ()) AS share_pct,
    CASE WHEN cause <> 'busy' THEN pct(duration_ns, sum(duration_ns) FILTER (cause <> 'busy') OVER ()) END
      AS idle_share_pct
  FROM cause
  UNION ALL
  SELECT c.batch, c.inferences, NULL, 'slower when recorded', inference_ns - latency_ns, NULL, NULL
  FROM model_latency m JOIN (SELECT DISTINCT batch, inferences, inference_ns FROM cause) c ON c.batch = m.batch)
SELECT batch, inferences, cause, duration_ns, share_pct, idle_share_pct
FROM line
ORDER BY is_busy DESC NULLS LAST, duration_ns DESC, cause
