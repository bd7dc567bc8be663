-- @id a3
-- @name layer_latency
-- @title Layer latency
-- @question How long does each layer take, and how much does it vary?
-- Each row has the latency and the five numbers of a box plot of all measured executions. The box plot takes the
-- executions one by one. These times are host times. If a device ran, device_ns is the time of the device, and span_ns
-- is the time of host and device together.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=latency_ns colour=type
-- @view box x=index min=min_ns q1=quartile1_ns median=median_ns q3=quartile3_ns max=max_ns
-- @view table caption=batch columns=index,name,latency_ns,device_ns,quartile1_ns,quartile3_ns,max_ns bar=latency_ns
-- @view table top=100
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column latency_ns ns Time in one inference: mean over the typical inferences.
-- @column device_ns ns Device time of the work that it launched, with nested layers; empty: no device was recorded.
-- @column span_ns ns Time from its first launch to its own end or the end of its work, the later; empty: no launch.
-- @column min_ns ns Time of the shortest execution.
-- @column quartile1_ns ns First quartile: a quarter of the executions took at most this time.
-- @column median_ns ns Median of the executions.
-- @column quartile3_ns ns Third quartile: three quarters of the executions took at most this time.
-- @column max_ns ns Time of the longest execution.
WITH execution AS (
  SELECT s.site_id, quantile_cont(s.duration_ns, [0, 0.25, 0.5, 0.75, 1]) AS q
  FROM layer_span s JOIN measured_inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
    AND i.process = coalesce(s.process, 0)
  WHERE s.run_id = chosen_layer_run(CAST($batch AS INTEGER))
  GROUP BY s.site_id)
SELECT batch, ordinal AS index, name, type, latency_ns, d.device_ns, d.span_ns, CAST(q[1] AS BIGINT) AS min_ns,
  q[2] AS quartile1_ns, q[3] AS median_ns, q[4] AS quartile3_ns, CAST(q[5] AS BIGINT) AS max_ns
FROM layers(CAST($batch AS INTEGER)) JOIN execution USING (site_id)
  LEFT JOIN (SELECT name, device_ns, span_ns FROM layer_device_time WHERE of = 'layer') d
    USING (name)
ORDER BY ordinal
