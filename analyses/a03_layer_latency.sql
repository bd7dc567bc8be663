-- @id a3
-- @name layer_latency
-- @title Layer latency
-- @question How long does each layer take, and how much does it vary?
-- Besides the latency, the five numbers of a box plot of all measured executions, one by one. They are of the time on
-- the host; where a device ran, device_ns and span_ns are those of the device and of both.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=latency_ns colour=type
-- @view box x=index min=min_ns q1=quartile1_ns median=median_ns q3=quartile3_ns max=max_ns
-- @view table caption=batch columns=index,name,latency_ns,device_ns,quartile1_ns,quartile3_ns,max_ns bar=latency_ns
-- @view table top=100
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column latency_ns ns Mean over the typical inferences of its time in one.
-- @column device_ns ns Time of the device in what it launched, nested layers included; empty: no device was recorded.
-- @column span_ns ns From its first launch to the last end of its work, or its own end; empty: it launched nothing.
-- @column min_ns ns The shortest execution.
-- @column quartile1_ns ns A quarter of the executions took at most this.
-- @column median_ns ns Median of the executions.
-- @column quartile3_ns ns Three quarters of the executions took at most this.
-- @column max_ns ns The longest execution.
WITH execution AS (
  SELECT s.site_id, quantile_cont(s.duration_ns, [0, 0.25, 0.5, 0.75, 1]) AS q
  FROM span s JOIN measured_inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
    AND i.process = coalesce(s.process, 0)
  WHERE s.run_id = chosen_layer_run(CAST($batch AS INTEGER)) AND s.level = 3 AND NOT s.is_open
    AND (s.device IS NOT NULL) = (SELECT on_device FROM layer_run WHERE run_id = s.run_id)
  GROUP BY s.site_id)
SELECT batch, ordinal AS index, name, type, latency_ns, d.device_ns, d.span_ns, CAST(q[1] AS BIGINT) AS min_ns,
  q[2] AS quartile1_ns, q[3] AS median_ns, q[4] AS quartile3_ns, CAST(q[5] AS BIGINT) AS max_ns
FROM layers(CAST($batch AS INTEGER)) JOIN execution USING (site_id)
  LEFT JOIN (SELECT name, device_ns, span_ns FROM layer_device_times(CAST($batch AS INTEGER)) WHERE of = 'layer') d
    USING (name)
ORDER BY ordinal
