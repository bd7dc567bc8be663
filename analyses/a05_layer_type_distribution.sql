-- @id a5
-- @name layer_type_distribution
-- @title Layer type distribution
-- @question Which types of layer does the model execute, and how many of each?
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view pie label=type value=layers
-- @view table caption=batch columns=type,layers,share_pct by=layers top=12 bar=share_pct
-- @column batch count Inputs per inference.
-- @column type text Operator of the layers.
-- @column layers count Number of layers of this type.
-- @column share_pct pct Share of this type in the number of all layers.
SELECT batch, coalesce(type, 'unknown') AS type, count(*) AS layers,
  pct(count(*), sum(count(*)) OVER ()) AS share_pct
FROM layers(CAST($batch AS INTEGER))
GROUP BY ALL
ORDER BY layers DESC, type
