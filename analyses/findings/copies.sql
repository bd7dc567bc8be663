-- @title Copies
-- @rule The device runs no kernel while data are copied.
SELECT concat('The device copies data for ', step_share(ns - of_pageable), ' while it runs no kernel',
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'kernel' AS level, ns - of_pageable AS gain_ns,
  concat('Copy ahead of the ', unit_name(), ' on a stream of its own, so that kernels run meanwhile; ',
    'keep on the device what ', coalesce(blame_text(culprit, layer, place), 'it'), ' copies again.') AS advice,
  'time_of_step' AS evidence,
  concat('The causes copy and copy preparation of time_of_step must take less: what is ',
    'copied beside kernels is hidden there.') AS check,
  culprit, layer
FROM blamed(['copy', 'copy preparation'], NULL), (
    SELECT coalesce(sum(ns), 0) AS of_pageable FROM finding_time WHERE cause <> 'synchronisation' AND kind = 'pageable')
WHERE ns > of_pageable
