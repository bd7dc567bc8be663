-- @title Copies
-- @rule The device runs no kernel while data are copied.
-- @needs causes
SELECT concat(CASE WHEN of_copies < 0.5 * ns
      THEN concat('The device is idle for ', step_share(ns - of_pageable), ' while the host prepares copies')
      ELSE concat('The device ', CASE WHEN culprit = 'memset' THEN 'fills and copies memory' ELSE 'copies data' END,
        ' for ', step_share(ns - of_pageable), ' while it runs no kernel') END,
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'kernel' AS level, ns - of_pageable AS gain_ns,
  CASE WHEN is_on_device THEN concat('The data are on the device already: let the operation before ',
      CASE WHEN culprit LIKE 'memcpy%' THEN concat('the copy', ' in ' || layer)
        ELSE coalesce(blame_text(culprit, layer, place), 'it') END, ' write where the next one reads',
      CASE WHEN offered_compiler() = 'torch.compile' THEN ' (in place, or out=)' ELSE '' END, '.')
    WHEN culprit = 'memset' THEN concat('Look at what runs after each fill: it adds into memory that must be zero, ',
      'such as a product that is split along its depth. Another algorithm of the library, or a larger batch, needs ',
      'no fill.')
    ELSE concat(CASE WHEN of_copies < 0.5 * ns THEN 'Copy fewer and larger pieces. ' END, 'Copy ahead of the ',
      unit_name(), ' on a stream of its own, so that kernels run meanwhile; ',
      'keep on the device what ', coalesce(blame_text(culprit, layer, place), 'it'), ' copies again.') END AS advice,
  'time_of_step' AS evidence,
  concat('The causes copy and copy preparation of time_of_step must take less: what is ',
    'copied beside kernels is hidden there.') AS check,
  culprit, layer
FROM blamed(['copy', 'copy preparation'], NULL), (
    SELECT coalesce(sum(ns) FILTER (cause <> 'synchronisation' AND kind = 'pageable'), 0) AS of_pageable,
      coalesce(sum(ns) FILTER (cause = 'copy'), 0) AS of_copies
    FROM finding_time), (
    -- Nearly all of the time is that of copies from the device to itself.
    SELECT coalesce(sum(duration_ns) FILTER (name = 'memcpy DtoD') > 0.9 * sum(duration_ns), false) AS is_on_device
    FROM span
    WHERE run_id = finding_run_id() AND level = 6 AND type IN ('copy', 'memcpy'))
WHERE ns > of_pageable
