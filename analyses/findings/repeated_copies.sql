-- @title Repeated copies
-- @rule Tensors are copied or converted on the host, which takes the step's time.
-- @needs watched
SELECT concat('Copying and converting tensors takes ', step_share(ns), ', mostly ',
    blame_text(culprit, layer, place), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  concat('Where the same values are copied in each step, as weights in another precision, do it once before the loop; ',
    'else let what ', culprit, ' makes be made in its precision and place from the start.') AS advice,
  'time_of_step' AS evidence,
  concat('The time of ', culprit, ' in time_of_step must be gone.') AS check,
  culprit, layer
FROM blamed(['compute'], ['conversion'])
