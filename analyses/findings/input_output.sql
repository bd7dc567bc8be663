-- @title Input and output
-- @rule The step waits for files, pipes or the network.
-- @needs watched
SELECT concat('Reading or writing takes ', step_share(ns),
    mostly_text(culprit_ns, ns, culprit, layer, place), rest_text(rest_of_lines(['input/output'])),
    '.') AS finding,
  'application' AS level, ns + rest_of_lines(['input/output']) AS gain_ns,
  concat('Take ', coalesce(blame_text(culprit, layer, place), 'it'),
    ' out of the step: write from another thread, in larger pieces and less often; ', 'read ahead.') AS advice,
  'time_of_step' AS evidence,
  'The cause input/output of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['input/output'], NULL)
