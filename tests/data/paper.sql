-- The paper's ResNet50 v1.5 on a V100: the table `paper` is tests/data/xsp_a15.csv. One model-only run and one
-- kernel run for each batch size, with one kernel that stands for all of them, and a run that counted.
CREATE TEMP TABLE paper_run AS
  SELECT *, CAST(row_number() OVER (ORDER BY batch) AS INTEGER) AS nth FROM paper;
INSERT INTO evaluation VALUES ('model', 'ResNet50 v1.5'), ('framework', 'tensorflow');
INSERT INTO run BY NAME
  SELECT 10 * nth + k AS run_id, levels, CAST(batch AS INTEGER) AS batch, counters, 'cuda:0' AS device,
    0 AS warmup_iterations, 1 AS iterations, 'ok' AS status
  FROM paper_run, (VALUES (1, 'model', NULL), (2, 'model,layer,library,api,kernel', NULL),
                          (3, 'model,layer,library,api,kernel', 'roofline')) t(k, levels, counters);
INSERT INTO span BY NAME
  SELECT 10 * nth + k AS run_id, 2 AS span_id, 2 AS level, 'resnet50' AS name, 0 AS iteration, 0 AS ordinal,
    0 AS start_ns, CAST(model_latency_ms * 1e6 * k AS BIGINT) AS duration_ns, 2 AS model_id, 1 AS site_id,
    0 AS depth, 0 AS self_ns, false AS is_open
  FROM paper_run, (VALUES (1), (2), (3)) t(k);
INSERT INTO span BY NAME
  SELECT 10 * nth + k AS run_id, 1 AS span_id, 2 AS parent_id, 6 AS level, 'all kernels' AS name,
    'kernel' AS type, 0 AS iteration, 0 AS ordinal, 0 AS start_ns,
    CAST(kernel_latency_ms * 1e6 * (k - 1) AS BIGINT) AS duration_ns, 0 AS device, 7 AS stream, 2 AS model_id,
    2 AS site_id, 0 AS depth, 0 AS self_ns, false AS is_open
  FROM paper_run, (VALUES (2), (3)) t(k);
INSERT INTO span_counter
  SELECT 10 * nth + 3, 1, c.name, c.value
  FROM paper_run, LATERAL (VALUES ('flops', gflops * 1e9), ('dram_read_bytes', dram_read_mib * 1048576),
    ('dram_write_bytes', dram_write_mib * 1048576), ('occupancy_pct', occupancy_pct)) c(name, value);
INSERT INTO peak VALUES ('cuda:0', 'fp32_flops_per_s', 15.7e12, 'datasheet'),
  ('cuda:0', 'memory_bytes_per_s', 900e9, 'datasheet');
