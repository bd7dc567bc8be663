-- @id x9
-- @name layer_groups
-- @title Layers by the paths of their names
-- @question Which parts of the network take the most time?
-- Layers are often named after the modules that they come from, such as layer1/0/conv1. The row of a path is the sum
-- of the layers below it. A name without a slash is a path of its own. A leading slash is removed. The latencies are
-- times of the host, unless `time_of` says device: on a GPU, a layer's own time is that of launching its kernels, and
-- kernel_ns is the time that these run.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param depth integer 2 The number of parts of the path that are distinguished.
-- @view table caption=batch,time_of columns=tree,layers,latency_ns,share_pct,kernel_ns,kernel_share_pct
-- @view table bar=share_pct top=100
-- @column batch count Inputs per inference.
-- @column depth count Number of parts in the path.
-- @column tree text The last part of the path, indented.
-- @column path text The whole path.
-- @column layers count Number of layers in the path.
-- @column latency_ns ns Mean over the typical inferences of the sum of the layers' own latencies.
-- @column share_pct pct Share of latency_ns in the sum of all layers.
-- @column kernel_ns ns Sum of the durations of the layers' own kernels; empty: none were recorded.
-- @column kernel_share_pct pct Share of kernel_ns in the sum of all layers.
-- @column time_of text Clock of latency_ns: host or device.
WITH layer AS MATERIALIZED (
  SELECT l.batch, l.ordinal, l.self_ns, l.time_of, k.kernel_ns, string_split(ltrim(l.name, '/'), '/') AS parts
  FROM layers(CAST($batch AS INTEGER)) l LEFT JOIN layer_kernel k ON k.name = l.name AND k.ordinal = l.ordinal),
step AS (
  SELECT batch, ordinal, self_ns, time_of, kernel_ns, parts,
    unnest(range(1, least(len(parts), CAST($depth AS INTEGER)) + 1)) AS depth
  FROM layer),
node AS (
  SELECT batch, depth, parts[1:depth] AS path, count(*) AS layers, sum(self_ns) AS latency_ns,
    sum(kernel_ns) AS kernel_ns, any_value(time_of) AS time_of, min(ordinal) AS first
  FROM step GROUP BY ALL),
-- A node comes after its ancestors, which come in the order of their first layers.
placed AS (
  SELECT n.*, list(a.first ORDER BY a.depth) AS place
  FROM node n JOIN node a ON a.depth <= n.depth AND a.path = n.path[1:a.depth]
  GROUP BY ALL)
SELECT batch, depth, concat(repeat('  ', depth - 1), path[-1]) AS tree, array_to_string(path, '/') AS path,
  layers, latency_ns, pct(latency_ns, (SELECT sum(self_ns) FROM layer)) AS share_pct, kernel_ns,
  pct(kernel_ns, (SELECT sum(kernel_ns) FROM layer)) AS kernel_share_pct, time_of
FROM placed
ORDER BY place
