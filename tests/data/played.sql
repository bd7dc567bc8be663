-- A program that `xsp run` watched: PyTorch on a GPU, whose marked steps are alike. A test fills `act` with what one
-- step does, in us from its start, and inserts all steps into span with play(). `id` is below 100; `every_us` is given
-- where the device takes another time for a step than the host. Site 7 is the phase of loading data.
INSERT INTO evaluation VALUES ('recorded_by', 'xsp run'), ('framework', 'torch');
INSERT INTO run(run_id, levels, batch, device, iterations, status)
  VALUES (1, 'application,model,layer,api,kernel', 1, 'cuda:0', 6, 'ok');
INSERT INTO site_attribute VALUES (1, 1, 'step_of', 'mark'), (1, 7, 'phase', 'data');
INSERT INTO span_attribute SELECT 1, 100 * i + 1, 'step', CAST(i AS VARCHAR) FROM range(60) t(i);
CREATE TEMP TABLE act(id INTEGER, parent INTEGER, level INTEGER, name VARCHAR, type VARCHAR, from_us BIGINT,
  until_us BIGINT, correlation INTEGER, every_us BIGINT);
CREATE TEMP MACRO play(period_us, steps) AS TABLE
  SELECT 1 AS run_id, 100 * i + id AS span_id, 100 * i + parent AS parent_id, level, name, type,
    1000 * (i * coalesce(every_us, period_us) + from_us) AS start_ns, 1000 * (until_us - from_us) AS duration_ns,
    7 AS process, CASE WHEN level < 6 THEN 1 END AS thread, CASE WHEN level = 6 THEN 0 END AS device,
    100 * i + correlation AS correlation_id, id AS site_id, 0 AS depth, 0 AS self_ns, false AS is_open
  FROM act, range(steps) t(i);
