-- @title Synchronisation
-- @rule The device is idle because the host waits for the device, or reads a value from it, before it continues.
-- @needs causes
SELECT concat('The device is idle for ', step_share(ns - of_copies),
    CASE WHEN reads THEN ' since the host waited for it, or read a value from it, before it went on'
         ELSE ' since the host waited for it before it went on' END,
    coalesce(': ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'api' AS level, ns - of_copies AS gain_ns,
  CASE WHEN NOT is_watched() AND layer IS NULL
       THEN concat('Let the host start the next inference before it waits for the results of this one; what the ',
         'model reads on its way (item, cpu, print) leave on the device.')
       ELSE concat('Leave values on the device: ask for what ',
         coalesce(blame_text(culprit, layer, place), 'it'),
         ' waits for once in many steps, or when the loop is over (item, cpu, print and ',
         'comparisons of tensors wait).') END AS advice,
  'time_of_step' AS evidence,
  concat(CASE WHEN reads THEN 'The causes synchronisation, copy and copy preparation of time_of_step must take less'
      ELSE 'The cause synchronisation of time_of_step must vanish' END,
    ', and the ', unit_name(), ' must become shorter by as much.') AS check,
  culprit, layer
FROM blamed(['synchronisation'], NULL), (
    SELECT coalesce(sum(ns) FILTER (kind = 'pageable'), 0) AS of_copies,
      coalesce(bool_or(kind = 'read'), false) AS reads
    FROM finding_time WHERE cause = 'synchronisation')
WHERE ns > of_copies
