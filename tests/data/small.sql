-- A model of four layers at the levels `model` and `model,layer`, batch sizes 1 and 2; numbers that can be
-- checked in the head. Six measured inferences of one block each, after one of warm-up.
--
--   run  batch  levels       model span of the inferences 0..5, us
--     1      1  model        1000 1010 1020 1030 1040 2000    mean of the four typical ones, and median, 1025
--     2      1  model,layer  1100 1110 1120 1130 1140 2100    100 more
--     3      2  model        1600 1610 1620 1630 1640 2600    likewise 1625
--     4      2  model,layer  1720 1730 1740 1750 1760 2720    120 more
--
--   layer (batch 1)  type  us   start  in -> out                              outputs
--     conv           Conv  500  +20    1x3x8x8, 16x3x3x3 -> 1x16x8x8          4096 B
--     relu           Relu  100  +540   1x16x8x8 -> 1x16x8x8                   4096 B
--     depthwise      Conv  200  +660   1x16x8x8, 16x1x3x3 -> 1x16x8x8         4096 B
--     classify       Gemm  150  +880   1x1024, 1024x10 -> 1x10                40 B, 45056 B allocated
--
-- At batch 2 every layer starts and takes 1.5 times as late and long, and its shapes and outputs double.
INSERT INTO evaluation VALUES ('model', 'small'), ('framework', 'fake'), ('framework_version', '1'),
  ('device', 'cpu');
INSERT INTO run BY NAME
  SELECT * FROM (VALUES (1, 'model', 1), (2, 'model,layer', 1), (3, 'model', 2), (4, 'model,layer', 2))
    t(run_id, levels, batch),
    (SELECT 'fake' AS framework, '1' AS framework_version, 'cpu' AS device, 2 AS threads,
       1 AS warmup_iterations, 6 AS iterations, 'ok' AS status, 'interval' AS stopped_by);
INSERT INTO block BY NAME
  SELECT run_id, b AS block, b AS first_iteration, 1 AS iterations, 0 AS start_ns, 0 AS duration_ns
  FROM run, range(6) t(b);

-- Inference -1 is warm-up: ten times as slow.
CREATE TEMP TABLE made_inference AS
  SELECT run_id, i AS iteration, 100_000_000 * (4 * i + run_id + 8) AS start_ns,
    1000 * (base + CASE i WHEN -1 THEN 9 * base WHEN 5 THEN 1000 ELSE 10 * i END) AS duration_ns
  FROM (VALUES (1, 1000), (2, 1100), (3, 1600), (4, 1720)) t(run_id, base), range(-1, 6) u(i);
CREATE TEMP TABLE made_layer AS
  SELECT * FROM (VALUES
    (0, 'conv', 'Conv', 20, 500), (1, 'relu', 'Relu', 540, 100), (2, 'depthwise', 'Conv', 660, 200),
    (3, 'classify', 'Gemm', 880, 150)) t(ordinal, name, type, start_us, latency_us);
INSERT INTO span BY NAME
  SELECT run_id, 5 * (iteration + 1) + 5 AS span_id, 2 AS level, 'small' AS name, iteration, 0 AS ordinal,
    start_ns, duration_ns, 1 AS process, 1 AS thread, 5 * (iteration + 1) + 5 AS model_id, 1 AS site_id,
    0 AS depth, false AS is_open,
    duration_ns - CASE run_id WHEN 2 THEN 950_000 WHEN 4 THEN 1_425_000 ELSE 0 END AS self_ns
  FROM made_inference;
INSERT INTO span BY NAME
  SELECT run_id, 5 * (iteration + 1) + ordinal + 1 AS span_id, 5 * (iteration + 1) + 5 AS parent_id,
    3 AS level, name, type, iteration, ordinal,
    CAST(start_ns + start_us * 250 * (run_id + 2) AS BIGINT) AS start_ns,
    CAST(latency_us * 250 * (run_id + 2) AS BIGINT) AS duration_ns, 1 AS process, 1 AS thread,
    5 * (iteration + 1) + 5 AS model_id, 5 * (iteration + 1) + ordinal + 1 AS layer_id,
    ordinal + 2 AS site_id, 0 AS depth, CAST(latency_us * 250 * (run_id + 2) AS BIGINT) AS self_ns,
    false AS is_open
  FROM made_inference, made_layer WHERE run_id IN (2, 4);

CREATE TEMP TABLE shape AS SELECT * FROM (VALUES
  (2, '[[N,3,8,8],[16,3,3,3]]', '[[N,16,8,8]]', '["float32","float32"]'),
  (3, '[[N,16,8,8]]', '[[N,16,8,8]]', '["float32"]'),
  (4, '[[N,16,8,8],[16,1,3,3]]', '[[N,16,8,8]]', '["float32","float32"]'),
  (5, '[[N,1024],[1024,10]]', '[[N,10]]', '["float32","float32"]')) t(site_id, inputs, outputs, dtypes);
INSERT INTO site_attribute
  SELECT run_id, site_id, key, replace(value, 'N', CAST(run_id // 2 AS VARCHAR))
  FROM shape, (VALUES (2), (4)) r(run_id),
    LATERAL (VALUES ('input_shapes', inputs), ('output_shapes', outputs), ('input_dtypes', dtypes),
                    ('output_dtypes', '["float32"]')) a(key, value);
INSERT INTO site_counter
  SELECT run_id, site_id, 'output_bytes', (run_id // 2) * CASE site_id WHEN 5 THEN 40 ELSE 4096 END
  FROM shape, (VALUES (2), (4)) r(run_id);
INSERT INTO site_counter VALUES (2, 5, 'allocated_bytes', 45056), (4, 5, 'allocated_bytes', 90112);
INSERT INTO audit_fact
  SELECT run_id, name, value FROM run, (VALUES
    ('trace_complete', 1), ('open_spans', 0), ('roots', 7), ('unattributed', 0), ('ambiguous', 0),
    ('clipped', 0), ('clipped_max_ns', 0), ('overlapping', 0), ('launches', 0), ('executions', 0),
    ('executions_unmatched', 0), ('launches_unmatched', 0)) t(name, value);
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
INSERT INTO model_layer VALUES (0, 'conv', 'Conv'), (1, 'relu', 'Relu'), (2, 'depthwise', 'Conv'),
  (3, 'classify', 'Gemm');
INSERT INTO peak VALUES ('cpu', 'fp32_flops_per_s', 1e11, 'measured'),
  ('cpu', 'memory_bytes_per_s', 1e10, 'measured');
