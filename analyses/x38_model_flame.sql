-- @id x38
-- @name model_flame
-- @title Flame graph of the model
-- @question How is an inference divided into modules, layers and kernels?
-- The tree divides the model's time as time_by_level does, over all typical inferences: the rows below a row, and the
-- row's own time, add up to it exactly. Modules are the parts of the layers' names between slashes. On a GPU, a layer's
-- parts are its kernels; otherwise a layer has its own time, without nested layers. Time that belongs to no part has a
-- row of its own, divided by the causes of the device's waiting. Modules and layers are in the order of execution, and
-- kernels in the order of their time.
-- @needs model, layer
-- @doubts kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view flame_graph depth=depth name=tree value=share_ns kind=type
-- @view table caption=batch columns=tree,type,share_ns,share_pct,executions bar=share_pct top=200
-- @column batch count Inputs per inference.
-- @column depth count Depth in the tree; 0: the inference; 1: the model.
-- @column tree text The module, layer, kernel or cause, indented by its depth.
-- @column name text Name of the layer, kernel or cause; of a module, the beginning of its layers' names.
-- @column type text The layer's operator, or kernel, or idle; empty: a module.
-- @column share_ns ns Its time in an inference, with all that is below it.
-- @column share_pct pct Share of share_ns in the inference.
-- @column executions number Executions of a kernel in an inference; empty: the row is no kernel.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
divided AS MATERIALIZED (FROM divided_time),
whole AS MATERIALIZED (
  SELECT coalesce(fact_of('model'), 'model') AS name, is_device, is_early, rest, parts_ns,
    CASE WHEN is_early THEN of_ns ELSE latency_ns END AS shown_ns
  FROM divided LIMIT 1),
leaf AS MATERIALIZED (
  SELECT string_split(d.layer, '/') AS path, d.type, d.kernel, d.share, d.number,
    coalesce(l.place, 1e9) AS place
  FROM divided d CROSS JOIN whole w
    LEFT JOIN (SELECT name, min(ordinal) AS place FROM layers((SELECT batch FROM wanted)) GROUP BY name) l
      ON l.name = d.layer
  WHERE d.layer IS NOT NULL),
-- A module, or a layer, which may hold others. Its place is that of the first layer in it.
node AS MATERIALIZED (
  SELECT array_to_string(path[1:level], '/') AS name, level, any_value(path[level]) AS own, sum(share) AS share,
    min(place) AS place, any_value(type) FILTER (level = len(path)) AS type
  FROM (SELECT *, unnest(range(1, len(path) + 1)) AS level FROM leaf) GROUP BY ALL),
placed AS MATERIALIZED (
  SELECT n.name, any_value(n.level) AS level, any_value(n.own) AS own, any_value(n.share) AS share,
    any_value(n.type) AS type, list({'place': a.place, 'name': a.name} ORDER BY a.level) AS key
  FROM (SELECT *, unnest(range(1, level + 1)) AS upper FROM node) n
    JOIN node a ON a.level = n.upper AND a.name = array_to_string(string_split(n.name, '/')[1:n.upper], '/')
  GROUP BY n.name),
line AS (
  SELECT 0 AS depth, 'inference' AS own, name, NULL AS type, 1.0 AS share, NULL AS executions, 0 AS part, NULL AS key
  FROM whole WHERE parts_ns IS NOT NULL
  UNION ALL SELECT 1, name, name, NULL, 1.0, NULL, 1, NULL FROM whole WHERE parts_ns IS NOT NULL
  UNION ALL SELECT level + 1, own, name, type, share, NULL, 2, key FROM placed
  UNION ALL
  SELECT p.level + 2, kernel_label(l.kernel), l.kernel, 'kernel', l.share, l.number, 2,
    list_append(p.key, {'place': -l.share, 'name': l.kernel})
  FROM leaf l JOIN placed p ON p.name = array_to_string(l.path, '/') WHERE l.kernel IS NOT NULL
  UNION ALL
  SELECT 2, reason, reason, 'idle', rest, NULL, 3, NULL
  FROM (SELECT rest, CASE WHEN is_early THEN 'copies' WHEN is_device THEN 'no kernel runs' ELSE 'between layers' END
          AS reason FROM whole WHERE rest > 0)
  UNION ALL
  SELECT 3, cause, cause, 'idle', w.rest * d.part_ns / sum(d.part_ns) OVER (), NULL, 4,
    [{'place': -d.part_ns, 'name': cause}]
  FROM divided d CROSS JOIN whole w WHERE d.cause IS NOT NULL AND w.rest > 0)
SELECT (SELECT batch FROM wanted) AS batch, depth, concat(repeat('  ', depth), own) AS tree, line.name, type,
  share * shown_ns AS share_ns, 100 * share AS share_pct, executions
FROM line CROSS JOIN whole ORDER BY part, key NULLS FIRST
