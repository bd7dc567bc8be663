-- @title Exposed communication
-- @rule The device communicates and computes nothing meanwhile.
-- @needs watched
SELECT concat('Communication takes ', step_share(ns), ' while nothing else runs',
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Begin it earlier, while the backward pass still computes (buckets of ',
    'gradients), send fewer bytes (16 bits), or do more work between two exchanges.') AS advice,
  'training_phases' AS evidence,
  'The communication must be hidden in time_of_step rather than in its own time.' AS check,
  culprit, layer
FROM blamed(['communication'], NULL)
