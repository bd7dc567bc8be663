-- @title Overhead of the framework
-- @rule The program uses no device, and the framework takes the processor between the work of its operators.
-- @needs watched
SELECT concat('The framework takes ', step_share(ns), ' between the work of its operators',
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  concat('Let each operator do more: larger batches, fused or compiled operators, fewer ',
    'views and copies of small tensors.') AS advice,
  'time_of_step' AS evidence,
  'The cause framework of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['framework'], NULL)
WHERE NOT EXISTS (FROM finding_time WHERE cause = 'launch')
