-- @title Sleeping
-- @rule The thread that carries the step sleeps for a time that the program chose.
-- @needs watched
SELECT concat('The step sleeps for ', step_share(ns), coalesce(': ' || blame_text(culprit, layer, place), ''), '.')
    AS finding,
  'application' AS level, ns AS gain_ns,
  concat('Wait for what the step needs (an event, a queue, a descriptor) rather than for the clock, or leave out ',
    coalesce(blame_text(culprit, layer, place), 'the sleep'), '.') AS advice,
  'time_of_step' AS evidence,
  'The cause waiting of time_of_step must take less.' AS check,
  culprit, layer
FROM blamed(['sleeping'], NULL)
