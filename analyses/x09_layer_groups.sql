-- @id x9
-- @name layer_groups
-- @title Layers by the paths of their names
-- @question Which parts of the network take the most time?
-- Layers are often named after the modules that they come from, such as layer1/0/conv1. The row of a path is the sum
-- of the layers below it. A name without a slash is a path of its own. A leading slash is removed.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param depth integer 2 The number of parts of the path that are distinguished.
-- @view table caption=batch columns=tree,layers,latency_ns,share_pct bar=share_pct top=100
-- @column batch count Inputs per inference.
-- @column depth count Number of parts in the path.
-- @column tree text The last part of the path, indented.
-- @column path text The whole path.
-- @column layers count Number of layers in the path.
-- @column latency_ns ns Sum of the layers' own latencies (trimmed means) in one inference.
-- @column share_pct pct Share of latency_ns in the sum of all layers.
WITH layer AS MATERIALIZED (
  SELECT batch, ordinal, self_ns, string_split(ltrim(name, '/'), '/') AS parts
  FROM layers(CAST($batch AS INTEGER))),
step AS (
  SELECT batch, ordinal, self_ns, unnest(range(1, least(len(parts), CAST($depth AS INTEGER)) + 1)) AS depth, parts
  FROM layer),
node AS (
  SELECT batch, depth, parts[1:depth] AS path, count(*) AS layers, sum(self_ns) AS latency_ns,
    min(ordinal) AS first
  FROM step GROUP BY ALL),
-- A node comes after its ancestors, which come in the order of their first layers.
placed AS (
  SELECT n.batch, n.depth, n.path, n.layers, n.latency_ns, list(a.first ORDER BY a.depth) AS place
  FROM node n JOIN node a ON a.depth <= n.depth AND a.path = n.path[1:a.depth]
  GROUP BY ALL)
SELECT batch, depth, concat(repeat('  ', depth - 1), path[-1]) AS tree, array_to_string(path, '/') AS path,
  layers, latency_ns, pct(latency_ns, (SELECT sum(self_ns) FROM layer)) AS share_pct
FROM placed
ORDER BY place
