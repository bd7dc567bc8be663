-- @title Bound by launches
-- @rule The device is idle while the host launches its next kernel.
-- @needs causes
-- The remedy, a graph or a compiler, also removes the Python code between the operators: in the model's layers, and on
-- the lines that launch. An optimiser with many pieces is a finding of its own.
WITH around AS (
  SELECT coalesce(sum(ns), 0) AS around_ns FROM finding_time
  WHERE is_watched() AND cause = 'host code' AND kind IS DISTINCT FROM 'optimizer'
    AND (layer IS NOT NULL OR place IN (SELECT place FROM finding_time WHERE cause IN ('launch', 'framework')))),
launching AS (
  SELECT * REPLACE (CASE WHEN around_ns < ns THEN around_ns ELSE 0 END AS around_ns),
    CASE WHEN culprit IN (SELECT name FROM span WHERE level = 2) THEN 'the framework, outside of all layers'
      ELSE culprit END AS culprit_text
  FROM blamed(['launch', 'framework'], NULL), around),
-- Whether graphs launch nearly all of the work, as XLA makes them on its own.
launcher AS (
  SELECT avg(CAST(l.type = 'graph_launch' AS INTEGER)) >= 0.9 AS is_graph
  FROM span k JOIN span l ON l.run_id = k.run_id AND l.correlation_id = k.correlation_id AND l.level = 5
  WHERE k.run_id = chosen_run(6, (SELECT batch FROM finding_batch)) AND k.level = 6 AND is_kernel(k.type)
    AND k.iteration >= 0)
SELECT concat('The device is idle for ', step_share(ns), ' while the host launches its next operation',
    mostly_text(culprit_ns, ns, culprit_text, layer, place),
    CASE WHEN around_ns >= 0.01 * ns THEN concat('; Python between these operators takes ',
      time_text(around_ns)) ELSE '' END, '.') AS finding,
  'kernel' AS level, ns + around_ns AS gain_ns,
  CASE WHEN is_graph THEN concat('CUDA graphs launch the work already. Give the device more at once, a larger batch; ',
      'or let the host start the next ', unit_name(), ' before it waits for the results of this one.')
    ELSE concat('Capture the ', unit_name(), ' as a CUDA graph',
      CASE WHEN compiler_name() IS NULL THEN '' ELSE ' or compile the model' END, ', so that the host ',
      'launches less; fuse small kernels; give the device more at once, a larger batch.') END AS advice,
  'time_of_step' AS evidence,
  concat('The causes launch and framework of time_of_step must take less, and the ', unit_name(),
    ' must become shorter by as much.') AS check,
  culprit, layer
FROM launching, launcher
WHERE EXISTS (FROM finding_time WHERE cause = 'launch')
