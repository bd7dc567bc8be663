-- @title Optimiser that is not fused
-- @rule The optimiser does its step in many small operations.
-- @needs watched
SELECT concat('The optimiser does its step in ', printf('%.0f', calls), ' pieces, which take ',
    step_share(ns), ', mostly ', blame_text(culprit, layer, place), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  concat('Use an optimiser that updates all parameters at once (fused=True, or ',
    'foreach=True), and clip the gradients of all at once.') AS advice,
  'training_phases' AS evidence,
  concat('The phase optimizer of training_phases must take less time, and have fewer ',
    'pieces in time_of_step.') AS check,
  culprit, layer
FROM blamed(NULL, ['optimizer'])
WHERE calls >= 50
