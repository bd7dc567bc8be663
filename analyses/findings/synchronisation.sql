-- @title Synchronisation
-- @rule The device is idle because the host waits for the device, or reads a value from it, before it continues.
SELECT concat('The device is idle for ', step_share(ns - of_copies),
    ' since the host waited for it before it went on',
    coalesce(': ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'api' AS level, ns - of_copies AS gain_ns,
  concat('Leave values on the device: ask for what ',
    coalesce(blame_text(culprit, layer, place), 'it'),
    ' waits for once in many steps, or when the loop is over (item, cpu, print and ',
    'comparisons of tensors wait).') AS advice,
  'time_of_step' AS evidence,
  concat('The cause synchronisation of time_of_step must vanish, and the ', unit_name(), ' must become ',
    'shorter by as much.') AS check,
  culprit, layer
FROM blamed(['synchronisation'], NULL), (SELECT coalesce(sum(ns), 0) AS of_copies FROM finding_time
  WHERE cause = 'synchronisation' AND kind = 'pageable')
WHERE ns > of_copies
