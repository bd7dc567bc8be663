-- A training that xsp run watched with the level model alone: 20 steps of 1 ms, of which the model's call takes 300 us.
INSERT INTO run BY NAME SELECT 1 AS run_id, 'application,model' AS levels, 1 AS batch, 20 AS iterations,
  'ok' AS status, 'end' AS stopped_by;
CREATE TEMP TABLE part AS SELECT * FROM (VALUES
  (1, 1, 'next batch', 'phase', 'data', 0, 100), (2, 2, 'Net', 'Net', NULL, 100, 300),
  (3, 1, 'backward', 'phase', 'backward', 450, 400), (4, 1, 'SGD.step', 'phase', 'optimizer', 850, 150))
  t(site_id, level, name, type, phase, start_us, duration_us);
INSERT INTO site_attribute SELECT 1, site_id, 'phase', phase FROM part WHERE phase IS NOT NULL;
INSERT INTO evaluation VALUES ('model', 'training'), ('recorded_by', 'xsp run');
INSERT INTO site_attribute VALUES (1, 9, 'step_of', 'optimizer');
INSERT INTO span BY NAME
  SELECT 1 AS run_id, 10 * step + site_id AS span_id, level, name, type, CASE level WHEN 2 THEN step END AS iteration,
    1000 * (1000 * step + start_us) AS start_ns, 1000 * duration_us AS duration_ns, 1 AS process, 1 AS thread,
    site_id, 0 AS depth, 0 AS self_ns, false AS is_open
  FROM part, range(20) u(step);
INSERT INTO span BY NAME
  SELECT 1 AS run_id, 1000 + step AS span_id, 1 AS level, 'step' AS name, 'step' AS type, 1_000_000 * step AS start_ns,
    1_000_000 AS duration_ns, 1 AS process, 1 AS thread, 9 AS site_id, 0 AS depth, 0 AS self_ns, false AS is_open
  FROM range(20) u(step);
