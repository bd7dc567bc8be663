-- @title Garbage collection
-- @rule The step stops while the interpreter collects garbage.
-- @needs watched
SELECT concat('Collecting garbage takes ', step_share(ns),
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Freeze what lives on (gc.freeze), make fewer objects that refer to one another ',
    'in a circle, or collect by hand between steps, where it disturbs least.') AS advice,
  'time_of_step' AS evidence,
  'The cause garbage collection of time_of_step must vanish.' AS check,
  culprit, layer
FROM blamed(['garbage collection'], NULL)
