-- @id x22
-- @name kernel_switching
-- @title Kernel switching
-- @question Which layers run other kernels at another batch size?
-- Libraries choose kernels by the shapes. The rows show the kernels of each layer at each batch size, in the order of
-- their launches. Layers that run the same kernels at every batch size are left out. Layers are matched by the model's
-- own layers that they stand for, or by name; layers_matched is the number of those that another batch size has, too.
-- @needs kernel, batches
-- @view heat_map x=batch y=layer value=per_input_ns mark=switches
-- @view table columns=index,layer,type,batch,switches,kernels,kernel_latency_ns,per_input_ns top=100
-- @view table columns=layers_switching,layers_matched,layers
-- @column index count Position of the layer in the order of execution, from 0.
-- @column layer text The model's layers that it stands for, or its name; empty: kernels outside of all layers.
-- @column type text The layer's operator.
-- @column batch count Inputs per inference.
-- @column switches bool Whether the kernels differ from those at the next smaller batch size.
-- @column kernels text Names without return type, arguments and template; equal names in a row appear once.
-- @column kernel_latency_ns ns Sum of the kernels' durations in one inference.
-- @column per_input_ns ns kernel_latency_ns / batch.
-- @column layers_switching count Number of layers that switch at this batch size.
-- @column layers count Number of layers that have kernels at this batch size.
-- @column layers_matched count Number of these that another batch size has, too.
WITH source AS (
  SELECT run_id, site_id, try_cast(value AS VARCHAR[]) AS layers FROM site_attribute WHERE key = 'source_layers'),
kernel AS MATERIALIZED (
  SELECT k.* REPLACE (layer_label(k.layer, s.layers) AS layer)
  FROM kernels(kernel_batches()) k LEFT JOIN source s ON s.run_id = k.run_id AND s.site_id = k.layer_site),
run_of AS (
  SELECT layer, batch, list(name ORDER BY position, ordinal) AS names, sum(latency_ns) AS latency_ns,
    min(layer_site) AS site_id, any_value(run_id) AS run_id, min(ordinal) AS first
  FROM kernel GROUP BY layer, batch),
compared AS (
  SELECT *, coalesce(names <> lag(names) OVER by_batch, false) AS switches,
    list_unique(list(names) OVER whole) AS kinds, count(*) OVER whole AS sizes,
    min(first) OVER whole AS place
  FROM run_of WINDOW by_batch AS (PARTITION BY layer ORDER BY batch), whole AS (PARTITION BY layer)),
site AS (
  SELECT run_id, site_id, any_value(type) AS type, min(ordinal) AS ordinal FROM span
  WHERE level = 3 AND run_id IN (SELECT unnest(kernel_run_ids(kernel_batches()))) AND iteration >= 0 GROUP BY ALL),
piece AS (
  SELECT layer, batch, list_transform(names, lambda one: kernel_label(one)) AS labels FROM compared),
counted AS (
  SELECT batch, count(*) FILTER (switches) AS layers_switching, count(*) AS layers,
    count(*) FILTER (sizes > 1) AS layers_matched
  FROM compared GROUP BY batch)
SELECT s.ordinal AS index, c.layer, s.type, c.batch, switches,
  array_to_string(list_transform(list_filter(range(1, len(labels) + 1), lambda i: i = 1 OR labels[i] <> labels[i - 1]),
    lambda i: labels[i]), ', ') AS kernels,
  latency_ns AS kernel_latency_ns, latency_ns / inputs_of(c.batch) AS per_input_ns, layers_switching, layers,
  layers_matched
FROM compared c JOIN piece p ON p.layer IS NOT DISTINCT FROM c.layer AND p.batch = c.batch
  JOIN counted n ON n.batch = c.batch LEFT JOIN site s ON s.run_id = c.run_id AND s.site_id = c.site_id
WHERE kinds > 1
ORDER BY place, c.layer, c.batch
