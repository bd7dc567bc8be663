-- @id x13
-- @name memory_over_time
-- @title Memory over time
-- @question How does the memory that is allocated grow and shrink in an inference?
-- Every allocation and release in one measured inference, pool by pool, as the framework's allocator and the
-- device's reported them: pools of the device hold what the allocator then hands out, so they are not to be added up.
-- As it takes time, frameworks are asked for theirs in the first three measured inferences alone.
-- @needs memory
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param iteration integer - Which measured inference, from 0; by default the first that recorded any.
-- @view line x=time_ns y=allocated_bytes series=pool
-- @view table caption=batch columns=pool,time_ns,event,layer,bytes,allocated_bytes,is_peak top=100
-- @column batch count Inputs per inference.
-- @column pool text Whose memory.
-- @column time_ns ns Since the inference began.
-- @column event text allocate or free.
-- @column layer text The innermost layer that was running; empty: none.
-- @column bytes bytes What was allocated; released: negative.
-- @column allocated_bytes bytes What the pool has allocated thereafter.
-- @column is_peak bool The pool has never more in this inference.
SELECT batch, pool, time_ns, event, layer, bytes, allocated_bytes,
  number = first_value(number) OVER (PARTITION BY pool ORDER BY allocated_bytes DESC, number) AS is_peak
FROM memory_events(CAST($batch AS INTEGER), CAST($iteration AS INTEGER))
ORDER BY pool, number
