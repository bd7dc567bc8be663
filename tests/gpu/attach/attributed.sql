-- Computes for an evaluation of `xsp run` how much of the device's time belongs to a module (a layer, or the model
-- itself), and the kernels in which most of the rest is spent. One row; the first column is the share in a module, in
-- percent. Copies from host to host are not the device's, although CUPTI reports a stream for them.
WITH execution AS (SELECT * FROM span WHERE level = 6 AND device IS NOT NULL AND name <> 'memcpy HtoH'),
total AS (
  SELECT count(*) AS executions, sum(duration_ns) AS all_ns, count(*) FILTER (parent_id IS NULL) AS without_launch,
    coalesce(sum(duration_ns) FILTER (layer_id IS NOT NULL), 0) AS in_layer_ns,
    coalesce(sum(duration_ns) FILTER (model_id IS NOT NULL OR layer_id IS NOT NULL), 0) AS in_module_ns
  FROM execution),
outside AS (
  SELECT name, sum(duration_ns) AS name_ns FROM execution WHERE layer_id IS NULL AND model_id IS NULL
  GROUP BY name ORDER BY name_ns DESC LIMIT 4),
rest AS (
  SELECT string_agg(format('{} {:.1f} %', left(name, 40), 100.0 * name_ns / all_ns), '; ' ORDER BY name_ns DESC)
    AS names
  FROM outside, total)
SELECT round(100.0 * in_module_ns / all_ns, 2) AS in_module_percent,
  format('{} executions, {:.2f} ms; in a module {:.2f} %, in a layer {:.2f} %; without a launch {}; lost {}; rest: {}',
    executions, all_ns / 1e6, 100.0 * in_module_ns / all_ns, 100.0 * in_layer_ns / all_ns, without_launch,
    (SELECT coalesce(sum(count), 0) FROM loss), coalesce(names, 'none')) AS line
FROM total, rest
