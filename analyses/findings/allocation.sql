-- @title Allocation
-- @rule The device is idle, or the processor makes pages of memory, while memory is allocated or released.
-- @needs causes
-- cudaMalloc and cudaFree wait until the device is done. So the host, which could be ahead of the device, begins with
-- an empty queue each time, and its launching delays the device, at most for the same time again. Without these calls,
-- a step takes as long as the device or the host works.
WITH host AS (
  SELECT sum(time_ns + hidden_ns) AS work_ns, sum(time_ns) AS shown_ns FROM finding_step_cause
  WHERE cause IN ('launch', 'framework', 'host code')),
shown AS (
  SELECT b.*, CASE WHEN is_on_device() AND is_watched() THEN least(b.ns, coalesce(h.shown_ns, 0),
      greatest(0, step_ns - greatest(busy_ns, coalesce(h.work_ns, 0)) - b.ns)) ELSE 0 END AS after_ns
  FROM blamed(['allocation'], NULL) b, host h, finding_step, finding_busy)
SELECT CASE WHEN is_on_device() THEN concat('The device is idle for ', step_share(ns),
      ' while memory is allocated or released')
    ELSE concat('Making fresh pages of memory (page faults) takes ', step_share(ns)) END
    || concat(mostly_text(culprit_ns, ns, culprit, layer, place),
      CASE WHEN after_ns >= 0.01 * ns THEN concat('; the host, which has to wait for the device meanwhile, is then ',
        'not ahead of it, and what it does shows for ', time_text(after_ns)) ELSE '' END, '.') AS finding,
  'api' AS level, ns + after_ns AS gain_ns,
  CASE WHEN is_on_device() THEN concat('Reuse memory: allocate before the loop, do not empty the framework''s cache ',
      'in it, and keep shapes the same; ', coalesce(blame_text(culprit, layer, place), 'it'),
      ' must not be called in a steady ', unit_name(), '.')
    ELSE concat('Write into memory that is there already (out=, operators in place, buffers that are kept), or use an ',
      'allocator that keeps what is freed (jemalloc, tcmalloc, or MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_).')
    END AS advice,
  'time_of_step' AS evidence,
  'The cause allocation of time_of_step must vanish.' AS check,
  culprit, layer
FROM shown
