-- @title Layout changes
-- @rule Kernels or layers change the layout of data between the kernels or layers that compute.
SELECT concat('Changing the layout of data takes ', step_share(ns), ', mostly ',
    blame_text(culprit, layer, place), '.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat(CASE WHEN is_package() THEN 'Compile the model again with its data and weights'
      ELSE 'Keep data and weights' END, ' in the layout that the kernels want from the start ',
    CASE WHEN offered_compiler() = 'torch.compile' THEN '(channels_last, NHWC), through the whole model'
         ELSE '(mostly NHWC), the model''s inputs too' END, ', so that ', culprit, ' is not needed.') AS advice,
  'kernels_by_name' AS evidence,
  concat('No kernel of that name may be left in kernels_by_name, and the time must be ', 'gone.') AS check,
  culprit, layer
FROM blamed(['compute', 'other kernels'], ['layout'])
