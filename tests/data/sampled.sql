-- A program of its own code that was watched while its threads were sampled: twenty steps of 10 ms that it marks, on
-- the thread 1 of the process 1, and a look each millisecond, which finds it running in work(), app.py:10. A test
-- changes what it finds.
INSERT INTO evaluation VALUES ('model', 'sampled'), ('recorded_by', 'xsp run'), ('processors_usable', '4');
INSERT INTO run BY NAME
  SELECT 1 AS run_id, 'application,model' AS levels, 0 AS warmup_iterations, 0 AS iterations, 'ok' AS status,
    'end' AS stopped_by;
INSERT INTO span BY NAME
  SELECT 1 AS run_id, 1 AS span_id, NULL AS parent_id, 1 AS level, 'app' AS name, 'process' AS type,
    0 AS start_ns, 200_000_000 AS duration_ns, 1 AS process, 1 AS thread, 1 AS site_id, 0 AS depth, 0 AS self_ns,
    false AS is_open
  UNION ALL
  SELECT 1, 2 + i, 1, 1, 'step', 'step', 10_000_000 * i, 10_000_000, 1, 1, 2, 0, 0, false FROM range(20) t(i);
INSERT INTO span_attribute SELECT 1, 2 + i, 'step', CAST(i AS VARCHAR) FROM range(20) t(i);
INSERT INTO site_attribute VALUES (1, 2, 'step_of', 'mark');
INSERT INTO stack BY NAME
  SELECT * FROM (VALUES (1, NULL, '<module>', '/home/me/app.py', 3, 'python'),
    (2, 1, 'work', '/home/me/app.py', 10, 'python'),
    (3, 2, 'sgemm_kernel', '/usr/lib/libopenblas.so.0', NULL, 'native'),
    (4, 1, 'save', '/usr/lib/python3/dist-packages/torch/serialization.py', 300, 'python'),
    (5, 2, 'backend_compile', '/usr/lib/python3/dist-packages/jax/_src/compiler.py', 200, 'python'),
    (6, NULL, 'Pool::wait(int)', '/home/me/app', NULL, 'native'),
    (7, NULL, 'count(Part&)', '/home/me/app', NULL, 'native'))
    t(stack_id, parent_id, function, file, line, kind), (SELECT 1 AS run_id);
INSERT INTO sample BY NAME
  SELECT 1 AS run_id, 1 AS process, 1 AS thread, 500_000 + 1_000_000 * i AS time_ns, 'running' AS state, 2 AS stack_id,
    1_000_000 AS duration_ns FROM range(200) t(i);
