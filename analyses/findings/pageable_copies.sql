-- @title Copies from pageable memory
-- @rule Large copies go between the device and pageable memory of the host, which the driver must stage.
-- @needs watched
SELECT concat('Copies between the device and pageable memory, of ', printf('%.3g MB', bytes / 1e6),
    ' each, take ', step_share(ns),
    mostly_text(culprit_ns, ns, culprit, layer, place), '.') AS finding,
  'kernel' AS level, ns AS gain_ns,
  concat('Keep the data in pinned memory (pin_memory of the loader or of the tensor), and ',
    'copy with non_blocking=True: the host goes on, and kernels run beside the copy.') AS advice,
  'copy_overlap' AS evidence,
  concat('The copies must say pinned in the attribute memory, and copy and ',
    'synchronisation in time_of_step must take less.') AS check,
  culprit, layer
FROM blamed(NULL, ['pageable']), (SELECT sum(bytes * copies) / sum(copies) AS bytes FROM finding_pageable)
