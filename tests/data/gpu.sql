-- A model of three layers on a GPU, at batch size 1 as it is and at 2 as a CUDA graph; two measured inferences in
-- each run, alike. Numbers that can be checked in the head; times in us from the start of an inference.
--
--   run  batch  levels                            model span
--     1      1  model                             1000
--     2      1  model,layer                       1050
--     3      1  model,layer,api,kernel            1100
--     4      1  model,layer,api,kernel, roofline  9000, and every kernel ten times as long: never to be quoted
--     5      2  model                             1500
--     6      2  model,layer                       1500   replays the graph: no layer on the host but in the warm-up
--     7      2  model,layer,api,kernel            1600
--
--   batch 1     conv                        relu         fc                         (nowhere)
--   run 2       20..320                     340..390     450..700
--   calls       22 allocate 24..32 launch   341 allocate 455 allocate               705..830 synchronise
--               23 allocate 34..42 launch   342..350     460..470 copy              840 free
--               300 free                    launch       500..508 launch  690 free, free
--   stream 7    gemm_a 40..240              relu_c       gemm_a 520..820
--   stream 8    reorder_b 100..260          360..400
--   stream 9                                             memcpy HtoD 480..540, 6 MB
--
--   counters      tensor_bf16  fp32   DRAM read  written  L2 read  written  occupancy  tensor pipe
--   gemm_a, conv      8 G        0      60 MB     20 MB    160 MB    40 MB      50 %       60 %
--   reorder_b           0        0      16 MB     16 MB     16 MB    16 MB      80 %        0
--   relu_c              0      1 M       4 MB      4 MB      4 MB     4 MB      90 %        0
--   gemm_a, fc        3 G        0     100 MB     20 MB    200 MB    40 MB      25 %       10 %
--
--   batch 2     launched at 50..60, awaited at 70..1250, all on stream 7
--   layers      conv 100..500    relu 510..590     fc 600..1200
--   kernels     gemm_a 100..500  relu_c 510..590   gemm_big 600..1000, 1010..1200
--
-- Ceilings: fp32 10 (attribute: 12) Tflop/s, bf16_tensor 100 (120), memory 1 (1.2) TB/s, L2 5 TB/s.
INSERT INTO evaluation VALUES ('model', 'three'), ('framework', 'fake'), ('device', 'cuda:0'),
  ('gpu.0.name', 'made up'), ('gpu.price_per_hour', '3.6');
INSERT INTO run BY NAME
  SELECT run_id, levels, batch, counters, 'fake' AS framework, 'cuda:0' AS device, 2 AS threads,
    0 AS warmup_iterations, 2 AS iterations, 'ok' AS status
  FROM (VALUES (1, 'model', 1, NULL), (2, 'model,layer', 1, NULL), (3, 'model,layer,api,kernel', 1, NULL),
               (4, 'model,layer,api,kernel', 1, 'roofline'), (5, 'model', 2, NULL), (6, 'model,layer', 2, NULL),
               (7, 'model,layer,api,kernel', 2, NULL)) t(run_id, levels, batch, counters);

CREATE TEMP TABLE gpu_site AS SELECT * FROM (VALUES
  (1, 2, 'three', NULL), (2, 3, 'conv', 'aten::conv2d'), (3, 3, 'relu', 'aten::relu'), (4, 3, 'fc', 'aten::linear'),
  (5, 5, 'cudaLaunchKernel', 'launch'), (6, 5, 'cudaMemcpyAsync', 'copy'),
  (7, 5, 'cudaStreamSynchronize', 'synchronization'), (8, 5, 'allocate', 'memory'), (9, 5, 'free', 'memory'),
  (10, 5, 'cudaGraphLaunch', 'graph_launch'), (11, 6, 'void gemm_a<128, 64>(float*, int)', 'kernel'),
  (12, 6, 'reorder_b', 'kernel'), (13, 6, 'relu_c', 'kernel'), (14, 6, 'memcpy HtoD', 'memcpy'),
  (15, 6, 'void gemm_a<128, 64>(float*, int)', 'kernel'), (16, 6, 'gemm_big', 'kernel'))
  t(site_id, level, name, type);
-- An inference's spans: `number` is the span's id in the first one, `owner` the layer's, `bytes` what it allocates or
-- copies. In run 2 there are the layers alone.
CREATE TEMP TABLE gpu_span AS SELECT * FROM (VALUES
  (1, 30, 1, NULL, 0, 1100, NULL, NULL, NULL),
  (1, 1, 2, 1, 20, 320, NULL, NULL, NULL), (1, 2, 3, 2, 340, 390, NULL, NULL, NULL),
  (1, 3, 4, 3, 450, 700, NULL, NULL, NULL),
  (1, 4, 8, 1, 22, 22, NULL, NULL, 1e6), (1, 5, 8, 1, 23, 23, NULL, NULL, 3e6),
  (1, 6, 5, 1, 24, 32, NULL, 1, NULL), (1, 7, 5, 1, 34, 42, NULL, 2, NULL),
  (1, 8, 9, 1, 300, 300, NULL, NULL, -3e6), (1, 9, 8, 2, 341, 341, NULL, NULL, 2e6),
  (1, 10, 5, 2, 342, 350, NULL, 3, NULL), (1, 11, 8, 3, 455, 455, NULL, NULL, 2.5e6),
  (1, 12, 6, 3, 460, 470, NULL, 4, NULL), (1, 13, 5, 3, 500, 508, NULL, 5, NULL),
  (1, 14, 9, 3, 690, 690, NULL, NULL, -1e6), (1, 15, 9, 3, 690, 690, NULL, NULL, -2e6),
  (1, 16, 7, NULL, 705, 830, NULL, NULL, NULL), (1, 17, 9, NULL, 840, 840, NULL, NULL, -2.5e6),
  (1, 18, 11, 1, 40, 240, 7, 1, NULL), (1, 19, 12, 1, 100, 260, 8, 2, NULL), (1, 20, 13, 2, 360, 400, 7, 3, NULL),
  (1, 21, 14, 3, 480, 540, 9, 4, 6e6), (1, 22, 15, 3, 520, 820, 7, 5, NULL),
  (2, 30, 1, NULL, 0, 1600, NULL, NULL, NULL), (2, 4, 10, NULL, 50, 60, NULL, 1, NULL),
  (2, 5, 7, NULL, 70, 1250, NULL, NULL, NULL), (2, 1, 2, 1, 100, 500, 7, 1, NULL), (2, 2, 3, 2, 510, 590, 7, 1, NULL),
  (2, 3, 4, 3, 600, 1200, 7, 1, NULL), (2, 18, 11, 1, 100, 500, 7, 1, NULL), (2, 19, 13, 2, 510, 590, 7, 1, NULL),
  (2, 20, 16, 3, 600, 1000, 7, 1, NULL), (2, 21, 16, 3, 1010, 1200, 7, 1, NULL))
  t(batch, number, site_id, owner, start_us, end_us, stream, launch, bytes);
CREATE TEMP TABLE gpu_run_span AS
  SELECT r.run_id, i AS iteration, s.* EXCLUDE (batch, site_id), site.*, r.run_id = 4 AND site.level = 6 AS is_replayed,
    CASE WHEN s.site_id = 1 THEN end_of_model ELSE end_us END AS end_of_span
  FROM gpu_span s JOIN gpu_site site USING (site_id)
    JOIN (VALUES (1, 1, 1000), (2, 1, 1050), (3, 1, 1100), (4, 1, 9000), (5, 2, 1500), (6, 2, 1500), (7, 2, 1600))
      r(run_id, batch, end_of_model) ON r.batch = s.batch, range(2) t(i)
  WHERE site.level = 2 OR r.run_id IN (3, 4, 7) OR (r.run_id = 2 AND site.level = 3);
INSERT INTO span BY NAME
  SELECT run_id, 100 * iteration + number AS span_id,
    CASE WHEN level > 2 THEN 100 * iteration + coalesce(nullif(owner, number), 30) END AS parent_id, level, name, type,
    iteration, row_number() OVER (PARTITION BY run_id, iteration, level ORDER BY start_us, number) - 1 AS ordinal,
    1000 * CAST(100_000 * iteration + start_us AS BIGINT) AS start_ns,
    1000 * CAST(end_of_span - start_us AS BIGINT) * CASE WHEN is_replayed THEN 10 ELSE 1 END AS duration_ns,
    1 AS process, CASE WHEN stream IS NULL THEN 1 END AS thread, CASE WHEN stream IS NOT NULL THEN 0 END AS device,
    stream, 10 * iteration + launch AS correlation_id, 100 * iteration + 30 AS model_id,
    CASE WHEN level > 2 THEN 100 * iteration + owner END AS layer_id, site_id, 0 AS depth, duration_ns AS self_ns,
    false AS is_open
  FROM gpu_run_span;
INSERT INTO span BY NAME
  SELECT * REPLACE (6 AS run_id, -1 AS iteration, 900 + span_id AS span_id, 930 AS parent_id, 930 AS model_id)
  FROM span WHERE run_id = 2 AND level = 3 AND iteration = 0;
INSERT INTO span_counter
  SELECT run_id, 100 * iteration + number, 'bytes', bytes FROM gpu_run_span WHERE bytes IS NOT NULL
  UNION ALL
  SELECT run_id, 100 * iteration + number, 'allocated_bytes',
    sum(bytes) OVER (PARTITION BY run_id, iteration ORDER BY start_us, number)
  FROM gpu_run_span WHERE type = 'memory';

CREATE TEMP TABLE gpu_count AS SELECT * FROM (VALUES
  (18, 8e9, 0, 60e6, 20e6, 160e6, 40e6, 50, 60), (19, 0, 0, 16e6, 16e6, 16e6, 16e6, 80, 0),
  (20, 0, 1e6, 4e6, 4e6, 4e6, 4e6, 90, 0), (22, 3e9, 0, 100e6, 20e6, 200e6, 40e6, 25, 10))
  t(number, tensor_bf16_flops, fp32_flops, dram_read_bytes, dram_write_bytes, l2_read_bytes, l2_write_bytes,
    occupancy_pct, tensor_pipe_pct);
INSERT INTO span_counter
  SELECT 4, 100 * i + number, c.name, c.value FROM gpu_count, range(2) t(i), LATERAL (VALUES
    ('tensor_bf16_flops', tensor_bf16_flops), ('fp32_flops', fp32_flops), ('flops', tensor_bf16_flops + fp32_flops),
    ('dram_read_bytes', dram_read_bytes), ('dram_write_bytes', dram_write_bytes), ('l2_read_bytes', l2_read_bytes),
    ('l2_write_bytes', l2_write_bytes), ('occupancy_pct', occupancy_pct), ('tensor_pipe_pct', tensor_pipe_pct))
    c(name, value);
INSERT INTO site_attribute
  SELECT run_id, site_id, key, replace(value, 'N', CAST(batch AS VARCHAR))
  FROM (VALUES (2, 1), (3, 1), (4, 1), (7, 2)) r(run_id, batch), (VALUES
      (2, '[[N,1000,200,200],[100,1000,1,1]]', '[[N,100,200,200]]', '["bfloat16","bfloat16"]'),
      (3, '[[N,100,200,200]]', '[[N,100,200,200]]', '["bfloat16"]'),
      (4, '[[N,1000,1000],[1500,1000]]', '[[N,1000,1500]]', '["bfloat16","bfloat16"]')) t(site_id, inputs, outputs, dtypes),
    LATERAL (VALUES ('input_shapes', inputs), ('output_shapes', outputs), ('input_dtypes', dtypes),
                    ('output_dtypes', '["bfloat16"]')) a(key, value);
INSERT INTO site_attribute
  SELECT run_id, site_id, key, value FROM (VALUES (3), (4), (7)) r(run_id), (VALUES
    (11, 'grid', '[98,1,1]'), (12, 'grid', '[400,1,1]'), (13, 'grid', '[64,1,1]'), (15, 'grid', '[24,4,1]'),
    (11, 'block', '[256,1,1]'), (12, 'block', '[512,1,1]'), (13, 'block', '[1024,1,1]'), (15, 'block', '[256,1,1]'),
    (11, 'occupancy_limiter', 'shared_memory'), (12, 'occupancy_limiter', 'warps'),
    (13, 'occupancy_limiter', 'registers'), (15, 'occupancy_limiter', 'shared_memory')) t(site_id, key, value)
  WHERE run_id < 7 OR site_id IN (11, 13);
INSERT INTO site_counter
  SELECT run_id, site_id, c.name, c.value FROM (VALUES (3), (4), (7)) r(run_id), (VALUES
    (11, 128, 65536, 50, 0.74), (12, 32, 0, 100, 0.76), (13, 40, 0, 100, 0.24), (15, 128, 65536, 50, 0.73))
    t(site_id, registers, shared, theoretical, waves), LATERAL (VALUES ('registers_per_thread', registers),
    ('dynamic_shared_bytes', shared), ('theoretical_occupancy_pct', theoretical), ('waves', waves)) c(name, value)
  WHERE run_id < 7 OR site_id IN (11, 13);
INSERT INTO peak VALUES
  ('cuda:0', 'fp32_flops_per_s', 10e12, 'measured'), ('cuda:0', 'fp32_flops_per_s', 12e12, 'attribute'),
  ('cuda:0', 'bf16_tensor_flops_per_s', 100e12, 'measured'), ('cuda:0', 'bf16_tensor_flops_per_s', 120e12, 'attribute'),
  ('cuda:0', 'memory_bytes_per_s', 1e12, 'measured'), ('cuda:0', 'memory_bytes_per_s', 1.2e12, 'attribute'),
  ('cuda:0', 'l2_bytes_per_s', 5e12, 'measured');
INSERT INTO audit_fact
  SELECT run_id, name, value FROM run, (VALUES ('trace_complete', 1), ('open_spans', 0), ('roots', 2),
    ('unattributed', 0), ('ambiguous', 0), ('clipped', 0), ('clipped_max_ns', 0), ('overlapping', 0), ('launches', 0),
    ('executions', 0), ('executions_unmatched', 0), ('launches_unmatched', 0)) t(name, value);
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
-- Run 8 counts energy: 1000 inferences of 1 ms from 0.05 s on, without a pause; 11 samples of 100 ms from 0 on, of 30 J
-- and 32 J in turn, the power meter saying 2 W more. From 0.5 s on the clock is held down by the power cap.
INSERT INTO run BY NAME
  SELECT 8 AS run_id, 'model' AS levels, 1 AS batch, 'energy' AS counters, 'fake' AS framework, 'cuda:0' AS device,
    2 AS threads, 0 AS warmup_iterations, 1000 AS iterations, 'ok' AS status;
INSERT INTO span BY NAME
  SELECT 8 AS run_id, i + 1 AS span_id, 2 AS level, 'three' AS name, i AS iteration, 0 AS ordinal,
    50_000_000 + 1_000_000 * i AS start_ns, 1_000_000 AS duration_ns, 1 AS process, 1 AS thread, i + 1 AS model_id,
    1 AS site_id, 0 AS depth, 1_000_000 AS self_ns, false AS is_open
  FROM range(1000) t(i)
  UNION ALL BY NAME
  SELECT 8 AS run_id, 2000 + i AS span_id, 1 AS level, 'sample' AS name, 'nvml' AS type, 100_000_000 * i AS start_ns,
    100_000_000 AS duration_ns, 1 AS process, 2 AS thread, 0 AS device, 2 AS site_id, 0 AS depth,
    100_000_000 AS self_ns, false AS is_open
  FROM range(11) t(i);
INSERT INTO span_counter
  SELECT 8, 2000 + i, c.name, c.value FROM range(11) t(i), LATERAL (VALUES
    ('energy_j', 30 + 2 * (i % 2)), ('power_w', 302 + 20 * (i % 2)), ('sm_clock_mhz', CASE WHEN i < 5 THEN 1980 ELSE 1500 END),
    ('memory_clock_mhz', 2619), ('temperature_c', 40 + i)) c(name, value);
INSERT INTO span_attribute
  SELECT 8, 2000 + i, 'throttle_reasons', CASE WHEN i < 5 THEN '' ELSE 'sw_power_cap' END FROM range(11) t(i);
INSERT INTO block BY NAME
  SELECT run_id, b AS block, b AS first_iteration, 1 AS iterations, 1_000_000_000 * b AS start_ns, 1_000_000 AS duration_ns,
    1980 - 30 * b AS gpu_sm_clock_mhz, 2619 AS gpu_memory_clock_mhz, 40 + b AS gpu_temperature_c, 300 AS gpu_power_w,
    CASE b WHEN 0 THEN '' ELSE 'sw_power_cap' END AS gpu_throttle_reasons
  FROM run, range(2) t(b) WHERE run_id < 8;
