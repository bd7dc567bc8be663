-- @id a3
-- @name layer_latency
-- @title Layer latency
-- @question How long does each layer take, and how much does it vary?
-- Besides the latency, the five numbers of a box plot of single executions.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=latency_ns colour=type
-- @view box x=index min=min_ns q1=quartile1_ns median=median_ns q3=quartile3_ns max=max_ns
-- @view table caption=batch columns=index,name,latency_ns,quartile1_ns,quartile3_ns,max_ns bar=latency_ns
-- @view table top=100
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column latency_ns ns Trimmed mean of its latency in one inference.
-- @column min_ns ns The shortest execution.
-- @column quartile1_ns ns A quarter of the executions took at most this.
-- @column median_ns ns Median of the executions.
-- @column quartile3_ns ns Three quarters of the executions took at most this.
-- @column max_ns ns The longest execution.
SELECT batch, ordinal AS index, name, type, latency_ns, min_ns, quartile1_ns,
  median_ns / per_inference AS median_ns, quartile3_ns, max_ns
FROM layers(CAST($batch AS INTEGER))
ORDER BY ordinal
