-- @title Autotuning
-- @rule A steady step tries algorithms out.
-- @needs watched
SELECT concat('Choosing algorithms for convolutions takes ', step_share(ns), ', although the first steps are ',
    'over', mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  concat('Keep the shapes of the inputs the same (pad them to a few sizes), or do not let the framework try ',
    'algorithms out (torch.backends.cudnn.benchmark = False).') AS advice,
  'time_of_step' AS evidence,
  'The cause framework of time_of_step must all but vanish from the convolutions.' AS check,
  culprit, layer
FROM blamed(['autotuning'], NULL)
