-- @id x39
-- @name layer_graph
-- @title Graph of the layers
-- @question How are the layers connected, and which part of the model takes its time?
-- Each executed layer is a node, in the order of execution. Its time is its part of the model's time, as model_flame
-- divides it. `inputs` are the layers whose results a layer takes. Some frameworks do not tell them; then only the
-- order of execution is known, `edges` says so, and the input of a layer is the layer before it. A layer that holds
-- others is no node of its own: it has no inputs, and its time is what it takes without the layers inside it.
-- @needs model, layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view layer_graph
-- @view table caption=batch,edges columns=index,label,type,precision,share_ns,share_pct,inputs
-- @view table by=share_ns top=20 bar=share_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text The framework's name of the layer.
-- @column label text The layer in the model's own names; fused layers follow plus signs.
-- @column type text The layer's operator.
-- @column share_ns ns Its time in an inference; on a GPU, that of its kernels; empty: it has no kernel of its own.
-- @column share_pct pct Share of share_ns in the inference.
-- @column precision text Types of its results: float32, float16, ...; empty: not known.
-- @column inputs text Positions of the layers that it follows, separated by blanks.
-- @column edges text What the inputs are: data (results that it takes), or order (the layer before it).
-- @column holds_layers bool Whether it holds other layers.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
part AS MATERIALIZED (
  SELECT layer, sum(share) AS share,
    any_value(CASE WHEN is_early THEN of_ns ELSE latency_ns END) AS shown_ns
  FROM divided_time WHERE layer IS NOT NULL GROUP BY layer),
layer AS MATERIALIZED (
  SELECT l.*, coalesce(lead(depth) OVER (ORDER BY ordinal) > depth, false) AS holds_layers,
    row_number() OVER (PARTITION BY name ORDER BY ordinal) AS number
  FROM layers((SELECT batch FROM wanted)) l),
taken AS MATERIALIZED (
  SELECT site_id, try_cast(value AS VARCHAR[]) AS names FROM site_attribute
  WHERE run_id = chosen_layer_run((SELECT batch FROM wanted)) AND key = 'input_layers'),
is_data AS (
  SELECT bool_and(names IS NOT NULL) AS known FROM layer LEFT JOIN taken USING (site_id) WHERE NOT holds_layers),
by_data AS (
  SELECT t.site_id, string_agg(l.ordinal, ' ' ORDER BY l.ordinal) AS inputs
  FROM (SELECT site_id, unnest(list_distinct(names)) AS name FROM taken) t
    JOIN layer l ON l.name = t.name AND number = 1
  GROUP BY t.site_id),
by_order AS (
  SELECT site_id, CAST(lag(ordinal) OVER (ORDER BY ordinal) AS VARCHAR) AS inputs FROM layer WHERE NOT holds_layers)
SELECT batch, ordinal AS index, l.name, layer_label(l.name, source_layers) AS label, type,
  -- The time of a name belongs to its first layer, so that the parts add up.
  CASE WHEN number = 1 THEN share * shown_ns ELSE 0 END AS share_ns,
  CASE WHEN number = 1 THEN 100 * share ELSE 0 END AS share_pct,
  array_to_string(list_sort(list_distinct(output_types)), ' ') AS precision,
  CASE WHEN known THEN d.inputs ELSE o.inputs END AS inputs, CASE WHEN known THEN 'data' ELSE 'order' END AS edges,
  holds_layers
FROM layer l CROSS JOIN is_data LEFT JOIN part p ON p.layer = l.name
  LEFT JOIN layer_shapes((SELECT batch FROM wanted)) USING (site_id)
  LEFT JOIN by_data d USING (site_id) LEFT JOIN by_order o USING (site_id)
ORDER BY ordinal
