-- @id x11
-- @name launch_delay
-- @title Delay from launch to start
-- @question How long does it take from the call that launches work to its start on the device?
-- The delay is the time from the beginning of the call to the beginning of the operation that it launched; for a
-- graph, to the beginning of its first node. A launch is `queued` if its stream was still at work when the call
-- returned. It waited for that work, and the host is ahead of the device. The delay of the other launches is the cost
-- of a launch.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param inferences integer 500 The largest number of inferences to look at; they are spread evenly.
-- @view table caption=batch columns=call,executes,launches,call_ns,delay_ns,p99_ns,queued_pct,free_delay_ns
-- @column batch count Inputs per inference.
-- @column call text Name of the call.
-- @column executes text Type of the operation that the call launched: kernel, memcpy or memset.
-- @column launches number Number of launches in one inference.
-- @column call_ns ns Median duration of the call.
-- @column delay_ns ns Median delay.
-- @column p90_ns ns 90th percentile of the delay.
-- @column p99_ns ns 99th percentile of the delay.
-- @column max_ns ns The longest delay.
-- @column queued_pct pct Share of the launches whose stream was still at work when the call returned.
-- @column free_delay_ns ns Median delay of the other launches.
WITH inside AS MATERIALIZED (FROM activity(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
inference AS (
  SELECT any_value(batch) AS batch, count(*) AS inferences
  FROM some_inferences(CAST($batch AS INTEGER), CAST($inferences AS INTEGER))),
execution AS (
  SELECT process, iteration, correlation_id, start_ns,
    CASE WHEN is_kernel(type) THEN 'kernel' ELSE type END AS executes,
    coalesce(max(end_ns) OVER (PARTITION BY process, iteration, device, stream ORDER BY start_ns
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS stream_until_ns
  FROM inside WHERE level = 6),
first AS (
  SELECT process, iteration, correlation_id, min(start_ns) AS start_ns, min_by(executes, start_ns) AS executes,
    min_by(stream_until_ns, start_ns) AS stream_until_ns
  FROM execution GROUP BY process, iteration, correlation_id),
launch AS (
  SELECT c.name AS call, f.executes, c.end_ns - c.start_ns AS call_ns, f.start_ns - c.start_ns AS delay_ns,
    f.stream_until_ns > c.end_ns AS queued
  FROM inside c JOIN first f USING (process, iteration, correlation_id) WHERE c.level = 5)
SELECT any_value(batch) AS batch, call, executes, count(*) / any_value(inferences) AS launches,
  median(call_ns) AS call_ns, median(delay_ns) AS delay_ns, quantile_cont(delay_ns, 0.9) AS p90_ns,
  quantile_cont(delay_ns, 0.99) AS p99_ns, max(delay_ns) AS max_ns,
  pct(count(*) FILTER (queued), count(*)) AS queued_pct, median(delay_ns) FILTER (NOT queued) AS free_delay_ns
FROM launch, inference
GROUP BY call, executes
ORDER BY count(*) DESC, call, executes
