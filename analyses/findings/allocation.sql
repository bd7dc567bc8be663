-- @title Allocation
-- @rule The device is idle, or the processor makes pages of memory, while memory is allocated or released.
SELECT CASE WHEN is_on_device() THEN concat('The device is idle for ', step_share(ns),
      ' while memory is allocated or released')
    ELSE concat('Making fresh pages of memory (page faults) takes ', step_share(ns)) END
    || concat(coalesce(', mostly ' || blame_text(culprit, layer, place), ''), '.') AS finding,
  'api' AS level, ns AS gain_ns,
  CASE WHEN is_on_device() THEN concat('Reuse memory: allocate before the loop, do not empty the framework''s cache ',
      'in it, and keep shapes the same; ', coalesce(blame_text(culprit, layer, place), 'it'),
      ' must not be called in a steady ', unit_name(), '.')
    ELSE concat('Write into memory that is there already (out=, operators in place, buffers that are kept), or use an ',
      'allocator that keeps what is freed (jemalloc, tcmalloc, or MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_).')
    END AS advice,
  'time_of_step' AS evidence,
  'The cause allocation of time_of_step must vanish.' AS check,
  culprit, layer
FROM blamed(['allocation'], NULL)
