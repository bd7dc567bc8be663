-- A program that calls its model and never waits: 30 calls that return after 80 us, one every 100 us, of each 1 ms of work
-- on the device, which is further and further behind. xsp run recorded the model alone, then everything. Of each call
-- the layer `block` launches a kernel of 600 us in `block/mm`, and a copy of 50 us beside its last 30 us; the layer `head`
-- a kernel of 350 us. 30 us later comes the next call's work.
INSERT INTO evaluation VALUES ('model', 'asynchronous'), ('recorded_by', 'xsp run'),
  ('leveled', 'turns');
INSERT INTO run(run_id, levels, batch, device, status, iterations, stopped_by) VALUES
  (1, 'application,model', 4, NULL, 'ok', 30, 'end'),
  (2, 'application,model,layer,api,kernel', 4, 'cuda:0', 'ok', 30, 'end');
-- The first call, which compiles, then a warm one, then the turns.
CREATE TEMP TABLE call AS
  SELECT 2 AS run_id, n - 2 AS iteration, 2_000_000 * n AS at_ns, 2_000_000 * n + 200_000 AS device_ns FROM range(2) t(n)
  UNION ALL SELECT 1, n, 10_000_000 + 100_000 * n, NULL FROM range(30) t(n)
  UNION ALL SELECT 2, n, 100_000_000 + 100_000 * n, 100_040_000 + 1_000_000 * n FROM range(30) t(n);
CREATE TEMP TABLE part AS SELECT * FROM (VALUES
  (1, 0, 2, 'Net', 'Net', 0, 80, NULL), (2, 1, 3, 'block', 'Block', 5, 40, NULL),
  (3, 2, 3, 'block/mm', 'aten::mm', 10, 20, NULL), (4, 1, 3, 'head', 'Linear', 50, 20, NULL),
  (5, 3, 5, 'cudaLaunchKernel', 'launch', 15, 5, 1), (6, 2, 5, 'cudaMemcpyAsync', 'copy', 35, 5, 2),
  (7, 4, 5, 'cudaLaunchKernel', 'launch', 55, 5, 3)) t(site_id, parent, level, name, type, start_us, us, correlation);
INSERT INTO span BY NAME
  SELECT run_id, id + site_id AS span_id, CASE WHEN parent > 0 THEN id + parent END AS parent_id, level, name, type,
    iteration, at_ns + 1000 * start_us AS start_ns, 1000 * us AS duration_ns, 9 AS process, 1 AS thread,
    id + correlation AS correlation_id, id + 1 AS model_id,
    CASE WHEN level = 3 THEN id + site_id WHEN level = 5 THEN id + parent END AS layer_id, site_id,
    CASE WHEN level = 3 THEN site_id - 2 END AS ordinal, CASE WHEN parent = 2 AND level = 3 THEN 1 ELSE 0 END AS depth, 0 AS self_ns, false AS is_open
  FROM (SELECT *, 1000 * (iteration + 2) AS id FROM call), part WHERE run_id = 2 OR level = 2;
UPDATE span SET self_ns = CASE name WHEN 'block' THEN 15_000 WHEN 'block/mm' THEN 15_000 WHEN 'head' THEN 15_000
  WHEN 'Net' THEN CASE run_id WHEN 1 THEN 80_000 ELSE 20_000 END ELSE duration_ns END;
INSERT INTO span BY NAME
  SELECT run_id, id + number AS span_id, id + launch AS parent_id, 6 AS level, name, type, iteration,
    device_ns + 1000 * start_us AS start_ns, 1000 * us AS duration_ns, 9 AS process, 0 AS device, stream,
    id + correlation AS correlation_id, id + 1 AS model_id, id + layer AS layer_id, number AS site_id, 0 AS depth,
    1000 * us AS self_ns, false AS is_open
  FROM (SELECT *, 1000 * (iteration + 2) AS id FROM call WHERE run_id = 2), (VALUES
    (11, 5, 3, 'mm', 'kernel', 0, 600, 7, 1), (12, 6, 2, 'memcpy DtoH', 'copy', 570, 50, 8, 2),
    (13, 7, 4, 'gemv', 'kernel', 620, 350, 7, 3)) t(number, launch, layer, name, type, start_us, us, stream, correlation);
