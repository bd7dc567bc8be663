-- One line for each batch size: the model's latency, and the GPU's busy share of it.
WITH r AS (SELECT *, list_contains(string_split(levels, ','), 'kernel') AND coalesce(counters, '') = '' AS is_kernel,
             levels = 'model' AND coalesce(counters, '') = '' AS is_model FROM run WHERE status = 'ok'),
model AS (SELECT r.batch, median(s.duration_ns) AS model_ns FROM r JOIN span s USING (run_id)
          WHERE r.is_model AND s.level = 2 AND s.iteration >= 0 GROUP BY r.batch),
inference AS (SELECT r.batch, s.iteration, sum(s.duration_ns) AS kernel_ns, count(*) AS kernels,
                count(*) FILTER (s.layer_id IS NULL) AS no_layer
              FROM r JOIN span s USING (run_id)
              WHERE r.is_kernel AND s.level = 6 AND s.type = 'kernel' AND s.iteration >= 0 GROUP BY ALL)
SELECT format('b{}: {:.3f} ms, {} kernels {:.3f} ms, {} without layer;', coalesce(batch, 1), any_value(model_ns) / 1e6,
              max(kernels), median(kernel_ns) / 1e6, sum(no_layer)) AS line
FROM model LEFT JOIN inference USING (batch) GROUP BY batch ORDER BY batch
