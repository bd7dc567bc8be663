-- @title Allocation
-- @rule The device is idle while memory is allocated or released.
SELECT concat('The device is idle for ', step_share(ns), ' while memory is allocated or released',
    coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'api' AS level, ns AS gain_ns,
  concat('Reuse memory: allocate before the loop, do not empty the framework''s cache in ',
    'it, and keep shapes the same; ', coalesce(blame_text(culprit, layer, place), 'it'),
    ' must not be called in a steady ', unit_name(), '.') AS advice,
  'time_of_step' AS evidence,
  'The cause allocation of time_of_step must vanish.' AS check,
  culprit, layer
FROM blamed(['allocation'], NULL)
