-- @id a4
-- @name layer_memory
-- @title Layer memory
-- @question How much memory does each layer take, in the order of execution?
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view bar x=index y=memory_bytes colour=type
-- @view table caption=batch columns=index,name,type,memory_bytes,parameter_bytes bar=memory_bytes top=100
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column type text Its operator.
-- @column memory_bytes bytes Memory allocated for the layer; for its outputs, if that is all that is known.
-- @column memory_of text What memory_bytes counts: allocated, or outputs.
-- @column output_bytes bytes Its results.
-- @column activation_bytes bytes What it reads that other layers or the caller computed.
-- @column parameter_bytes bytes What it reads of the model's weights.
SELECT batch, ordinal AS index, name, type, coalesce(allocated_bytes, output_bytes) AS memory_bytes,
  CASE WHEN allocated_bytes IS NOT NULL THEN 'allocated' WHEN output_bytes IS NOT NULL THEN 'outputs' END
    AS memory_of, output_bytes, activation_bytes, parameter_bytes
FROM layers(CAST($batch AS INTEGER)) LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
ORDER BY ordinal
