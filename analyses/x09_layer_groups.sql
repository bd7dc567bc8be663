-- @id x9
-- @name layer_groups
-- @title Layers by the paths of their names
-- @question Which parts of the network does the time go to?
-- Layers are often named after the modules that they come from: layer1/0/conv1. Each path is the sum of the
-- layers below it; names without a slash stand for themselves. A leading slash is left out.
-- @needs layer
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param depth integer 2 How many parts of the path are told apart.
-- @view table caption=batch columns=tree,layers,latency_ns,share_pct bar=share_pct top=100
-- @column batch count Inputs per inference.
-- @column depth count Parts in the path.
-- @column tree text The last part of the path, indented.
-- @column path text The path.
-- @column layers count Layers in it.
-- @column latency_ns ns Sum of their own latencies (trimmed means) in one inference.
-- @column share_pct pct Share in the sum of all layers.
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
