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
-- @column name text The framework's name of the layer.
-- @column type text The layer's operator.
-- @column memory_bytes bytes Memory allocated for the layer, or the size of its outputs if only that is known.
-- @column memory_of text The kind of memory_bytes: allocated, or outputs.
-- @column output_bytes bytes Size of the layer's outputs.
-- @column activation_bytes bytes Size of the inputs that other layers or the caller computed.
-- @column parameter_bytes bytes Size of the model's weights that the layer reads.
SELECT batch, ordinal AS index, name, type, coalesce(allocated_bytes, output_bytes) AS memory_bytes,
  CASE WHEN allocated_bytes IS NOT NULL THEN 'allocated' WHEN output_bytes IS NOT NULL THEN 'outputs' END
    AS memory_of, output_bytes, activation_bytes, parameter_bytes
FROM layers(CAST($batch AS INTEGER)) LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
ORDER BY ordinal
