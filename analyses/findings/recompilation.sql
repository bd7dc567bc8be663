-- @title Recompilation
-- @rule A steady step compiles code.
-- @needs watched
SELECT concat('Compiling takes ', step_share(ns), ', although the first steps are over',
    mostly_text(culprit_ns, ns, culprit, layer, place), rest_text(rest_of_lines(['compilation'])),
    '.') AS finding,
  'application' AS level, ns + rest_of_lines(['compilation']) AS gain_ns,
  concat('Keep the shapes of the inputs the same (pad them to a few sizes), or mark the ',
    'dimension that changes as dynamic; compile before the loop.') AS advice,
  'time_of_step' AS evidence,
  'The cause compilation of time_of_step must vanish from the steady steps.' AS check,
  culprit, layer
FROM blamed(['compilation'], NULL)
