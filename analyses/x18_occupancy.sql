-- @id x18
-- @name occupancy
-- @title Occupancy and what limits it
-- @question How full are the multiprocessors in each kernel, and what limits the occupancy?
-- Kernels of the same name and launch geometry are combined. The theoretical occupancy follows from registers, shared
-- memory and block size, and the limiter is the resource that runs out first. The achieved occupancy is counted. If it
-- is far below the theoretical occupancy, the blocks are too few or uneven (`waves` says how often the grid fills the
-- device).
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=label,grid,block,kernels,latency_ns,latency_pct,theoretical_pct,occupancy_pct
-- @view table columns=limiter,waves,registers_per_thread by=latency_ns top=20
-- @column batch count Inputs per inference.
-- @column name text The kernels' name.
-- @column label text The name without return type, arguments and template.
-- @column grid text Number of blocks in the grid, [x,y,z].
-- @column block text Number of threads in a block, [x,y,z].
-- @column kernels number Number of these kernels that run in one inference.
-- @column latency_ns ns Sum of the kernels' durations in one inference.
-- @column latency_pct pct Share of latency_ns in the latency of all kernels.
-- @column theoretical_pct pct Theoretical occupancy; empty: not known.
-- @column occupancy_pct pct Achieved occupancy, weighted by latency; empty: not counted.
-- @column limiter text The resource that runs out first: registers, shared_memory, warps or blocks.
-- @column waves ratio Number of times that the grid fills the device.
-- @column registers_per_thread count Number of registers of a thread.
-- @column shared_bytes bytes Shared memory of a block, static and dynamic.
WITH fact AS MATERIALIZED (FROM every_kernel_fact),
geometry AS (
  SELECT site_id, max(value) FILTER (key = 'grid') AS grid, max(value) FILTER (key = 'block') AS block,
    max(value) FILTER (key = 'occupancy_limiter') AS limiter
  FROM site_attribute WHERE run_id = chosen_run(6, CAST($batch AS INTEGER)) GROUP BY site_id),
resource AS (
  SELECT site_id, max(value) FILTER (name = 'registers_per_thread') AS registers_per_thread,
    sum(value) FILTER (name IN ('static_shared_bytes', 'dynamic_shared_bytes')) AS shared_bytes,
    max(value) FILTER (name = 'theoretical_occupancy_pct') AS theoretical_pct,
    max(value) FILTER (name = 'waves') AS waves
  FROM site_counter WHERE run_id = chosen_run(6, CAST($batch AS INTEGER)) GROUP BY site_id)
SELECT batch, name, kernel_label(name) AS label, grid, block, sum(per_inference) AS kernels,
  sum(latency_ns) AS latency_ns, pct(sum(latency_ns), (SELECT sum(latency_ns) FROM fact)) AS latency_pct,
  theoretical_pct, weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct, limiter, waves,
  CAST(registers_per_thread AS BIGINT) AS registers_per_thread, shared_bytes
FROM fact LEFT JOIN geometry USING (site_id) LEFT JOIN resource USING (site_id)
GROUP BY ALL
ORDER BY sum(latency_ns) DESC, name, grid
