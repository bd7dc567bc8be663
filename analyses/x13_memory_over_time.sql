-- @id x13
-- @name memory_over_time
-- @title Memory over time
-- @question How does the allocated memory grow and shrink in an inference?
-- The rows are all allocations and releases of one measured inference, pool by pool, as the allocators of the
-- framework and the device reported them. Pools of the device contain the memory that the framework's allocator hands
-- out, so the pools must not be added up. The reports take time, so frameworks are asked for theirs only in the first
-- three measured inferences.
-- @needs memory
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param iteration integer - The number of the measured inference, from 0; by default the first that recorded any.
-- @view line x=time_ns y=allocated_bytes series=pool
-- @view table caption=batch columns=pool,time_ns,event,layer,bytes,allocated_bytes,is_peak top=100
-- @column batch count Inputs per inference.
-- @column pool text The pool: the owner of the memory.
-- @column time_ns ns Time since the inference began.
-- @column event text allocate or free.
-- @column layer text The innermost layer that was running; empty: no layer.
-- @column bytes bytes Bytes that were allocated; negative: released.
-- @column allocated_bytes bytes Bytes that the pool has allocated after the event.
-- @column is_peak bool Whether this is the pool's highest allocated_bytes in the inference.
SELECT batch, pool, time_ns, event, layer, bytes, allocated_bytes,
  number = first_value(number) OVER (PARTITION BY pool ORDER BY allocated_bytes DESC, number) AS is_peak
FROM memory_events(CAST($batch AS INTEGER), CAST($iteration AS INTEGER))
ORDER BY pool, number
