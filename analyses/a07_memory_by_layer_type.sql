-- @id a7
-- @name memory_by_layer_type
-- @title Memory by layer type
-- @question Which types of layer take the most memory?
-- The memory that was allocated for the layers is summed by operator. If only the sizes of the outputs are known,
-- these are summed instead.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=type value=memory_bytes
-- @view table caption=batch columns=type,layers,memory_bytes,share_pct by=memory_bytes top=12 bar=share_pct
-- @column batch count Inputs per inference.
-- @column type text Operator of the layers.
-- @column layers count Number of layers of this type.
-- @column memory_bytes bytes Sum of the layers' memory in one inference; empty: not known for any of them.
-- @column unknown_layers count Number of layers of this type whose memory is not known.
-- @column share_pct pct Share of memory_bytes in the sum of all layers.
SELECT batch, coalesce(type, 'unknown') AS type, count(*) AS layers,
  sum(coalesce(allocated_bytes, output_bytes)) AS memory_bytes,
  count(*) - count(coalesce(allocated_bytes, output_bytes)) AS unknown_layers,
  pct(sum(coalesce(allocated_bytes, output_bytes)),
      sum(sum(coalesce(allocated_bytes, output_bytes))) OVER ()) AS share_pct
FROM layers(CAST($batch AS INTEGER)) LEFT JOIN layer_counters(CAST($batch AS INTEGER)) USING (site_id)
GROUP BY ALL
ORDER BY memory_bytes DESC NULLS LAST, type
