-- @title Input pipeline
-- @rule The step waits for its next batch.
-- @needs watched
SELECT concat('Waiting for data takes ', step_share(ns),
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'application' AS level,
  ns - coalesce((SELECT least(ns, share * step_ns) FROM finding_lock, finding_step), 0) AS gain_ns,
  concat('Prepare batches ahead, in more worker processes or on threads of their own; do ',
    'once, before the training, what does not change from epoch to epoch.') AS advice,
  'time_of_step' AS evidence,
  concat('The cause data of time_of_step must take less, and the step must become shorter ',
    'by as much.') AS check,
  culprit, layer
FROM blamed(['data'], NULL)
