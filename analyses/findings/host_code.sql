-- @title Bound by host code
-- @rule The device is idle, or the processor busy, while the program runs code of its own.
-- @needs causes
-- A framework's functions around operators, unless the program has functions of the same name. Loading and saving are
-- left out, because they are no such functions.
WITH framework AS (
  SELECT function, bool_or(regexp_matches(file, '/(torch/optim|optax)/')) AS is_optimiser FROM stack
  WHERE regexp_matches(file, '/(torch|jax|jaxlib|flax|optax|tensorflow|keras)/')
    AND NOT regexp_matches(file, '/torch/(serialization|utils/data)')
    AND function NOT IN (SELECT function FROM stack WHERE kind = 'python' AND NOT is_of_library(file))
  GROUP BY function)
SELECT concat('The program''s own code on the host takes ', step_share(ns),
    coalesce(', mostly ' || blame_text(culprit, layer, place)
      || CASE WHEN culprit_ns < 0.95 * ns THEN ', which takes ' || time_text(culprit_ns) ELSE '' END, ''),
    '.') AS finding,
  'application' AS level, ns AS gain_ns,
  CASE WHEN culprit IN (SELECT function FROM framework WHERE is_optimiser)
      THEN concat('Let the optimiser update all parameters at once (fused=True, where the framework has it), or ',
        'compile its step.')
    WHEN is_on_device() AND NOT is_watched() AND culprit IN (SELECT type FROM layer_site)
      THEN concat(culprit, ' launches no kernel here: keep its data on the device, or compute it once and not in ',
        'each ', unit_name(), '.')
    WHEN layer IS NOT NULL OR culprit IS NULL OR culprit IN (SELECT type FROM layer_site)
        OR culprit IN (SELECT name FROM span WHERE level = 2 UNION SELECT type FROM span WHERE level = 2)
        OR culprit IN (SELECT function FROM framework)
      THEN concat('Call fewer modules and operators, each on more data',
        coalesce(', or compile the model (' || compiler_name() || ')', ''),
        CASE WHEN EXISTS (FROM stack WHERE kind = 'python') THEN ': this is Python around operators' END, '.')
    ELSE concat('Take ', blame_text(culprit, layer, place), ' out of the step: do it once for many steps, ahead on ',
      'another process, or with operators of the framework or NumPy.') END AS advice,
  'time_of_step' AS evidence,
  concat('The cause host code of time_of_step must take less, and the step must become ',
    'shorter by as much.') AS check,
  culprit, layer
FROM blamed(['host code'], NULL)
-- A program without Python does its work in its own code, and no sample shows whether that work is needed.
WHERE EXISTS (FROM stack WHERE kind = 'python') OR NOT EXISTS (FROM stack)
