-- @id x14
-- @name memory_at_peak
-- @title Memory at its peak
-- @question Which layers allocated the memory that is held at the peak?
-- The rows show the contents of each pool at its peak, in one measured inference. Blocks are distinguished by their
-- size: if one of several equal blocks was released, the oldest is taken to be the one. The memory that was allocated
-- before the inference (weights, workspaces) is one row, and allocations outside of all layers are another row. A
-- compiled package holds its weights outside of the framework's pools.
-- Frameworks are asked for their allocations only in the first three measured inferences.
-- @needs memory
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param iteration integer - The number of the measured inference, from 0; by default the first that recorded any.
-- @view pie label=holder value=bytes
-- @view table caption=batch columns=pool,peak_bytes,time_ns,holder,blocks,bytes,share_pct bar=share_pct
-- @column batch count Inputs per inference.
-- @column pool text The pool: the owner of the memory.
-- @column peak_bytes bytes The most bytes that are allocated in the inference.
-- @column time_ns ns Time of the first such moment, since the inference began.
-- @column during text The layer that was running at that time; empty: no layer.
-- @column holder text The layer that allocated the memory; or before the inference, or outside layers.
-- @column blocks count Number of blocks; empty: not known.
-- @column bytes bytes Bytes that the holder holds.
-- @column share_pct pct Share of bytes in peak_bytes.
WITH event AS MATERIALIZED (FROM memory_events(CAST($batch AS INTEGER), CAST($iteration AS INTEGER))),
peak AS (
  SELECT any_value(batch) AS batch, pool, max(allocated_bytes) AS peak_bytes,
    min_by(number, -allocated_bytes) AS number
  FROM (FROM event ORDER BY number) GROUP BY pool),
moment AS (SELECT p.*, e.time_ns, e.layer AS during FROM peak p JOIN event e USING (pool, number)),
before AS (
  SELECT e.*, row_number() OVER (PARTITION BY e.pool, abs(e.bytes), e.bytes > 0 ORDER BY e.number DESC) AS from_last,
    sum(sign(e.bytes)) OVER (PARTITION BY e.pool, abs(e.bytes)) AS alive
  FROM event e JOIN moment m ON m.pool = e.pool AND e.number <= m.number),
held AS (
  SELECT pool, coalesce(layer, 'outside layers') AS holder, count(*) AS blocks, sum(bytes) AS bytes
  FROM before WHERE bytes > 0 AND from_last <= alive GROUP BY ALL),
line AS (
  SELECT * FROM held
  UNION ALL
  SELECT pool, CASE WHEN is_package() THEN 'before the inference, without the package''s weights'
      ELSE 'before the inference' END, NULL,
    peak_bytes - coalesce((SELECT sum(bytes) FROM held WHERE held.pool = moment.pool), 0) FROM moment)
SELECT batch, pool, peak_bytes, time_ns, during, holder, blocks, bytes, pct(bytes, peak_bytes) AS share_pct
FROM line JOIN moment USING (pool)
WHERE bytes <> 0
ORDER BY peak_bytes DESC, pool, bytes DESC, holder
