-- @id x10
-- @name gpu_idle
-- @title Idle time of the GPU
-- @question How long does the GPU run no kernel in an inference, and why?
-- The time `busy` is the union of the kernels' times over all streams. Each moment outside of it has the cause that
-- time_of_step gives to it; time_of_step also names the culprit. Either the device copies or sets memory (copy), or it
-- waits although the next operation was queued (device), or the thread that launches the next operation does something
-- else first (launch, framework, host code, data, synchronisation, allocation, copy preparation, recording). For a
-- program that was watched, the rows describe a step. All rows add up to the model's latency, or to the step.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=cause value=duration_ns of=share_pct
-- @view table caption=batch,unit,repeats columns=cause,duration_ns,share_pct,idle_share_pct bar=share_pct
-- @column batch count Inputs per inference.
-- @column unit text The unit of repetition: inference, or step for a program that was watched.
-- @column repeats count Number of inferences or steps that the means cover.
-- @column cause text The cause: busy, or the reason why the GPU is idle.
-- @column duration_ns ns Mean time in one inference or step.
-- @column share_pct pct Share of the inference or step.
-- @column idle_share_pct pct Share of the idle time.
WITH wanted AS (SELECT chosen_batch(6, CAST($batch AS INTEGER)) AS batch),
cause AS MATERIALIZED (FROM device_cause),
period AS (
  SELECT CASE any_value(kind) WHEN 'inference' THEN 'inference' ELSE 'step' END AS unit, count(*) AS repeats
  FROM periods((SELECT batch FROM wanted), 1000000000))
SELECT batch, unit, repeats, cause, duration_ns, pct(duration_ns, sum(duration_ns) OVER ()) AS share_pct,
  CASE WHEN cause <> 'busy' THEN pct(duration_ns, sum(CASE WHEN cause <> 'busy' THEN duration_ns END) OVER ()) END
    AS idle_share_pct
FROM cause, wanted, period
ORDER BY cause = 'busy' DESC, duration_ns DESC, cause
