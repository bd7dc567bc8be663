-- After gpu.sql: the same inferences as the steps of a program that was watched, in one process, run after run. The
-- step of the run that recorded the model alone takes as long as from one inference's start to the next.
INSERT INTO evaluation VALUES ('recorded_by', 'xsp run');
DELETE FROM run WHERE batch = 2 OR counters IS NOT NULL;
DELETE FROM span WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM block;
UPDATE span SET process = 1, thread = CASE WHEN device IS NULL THEN 1 END, 
  start_ns = start_ns + CAST(1e9 AS BIGINT) * run_id - 98800000 * iteration WHERE iteration IS NOT NULL;
-- A third inference of the run that recorded the kernels: a step on the device ends where the next one begins there.
INSERT INTO span SELECT * REPLACE (2 AS iteration, span_id + 10000 AS span_id, parent_id + 10000 AS parent_id,
    model_id + 10000 AS model_id, layer_id + 10000 AS layer_id, correlation_id + 10000 AS correlation_id,
    start_ns + 1200000 AS start_ns)
  FROM span WHERE run_id = 3 AND iteration = 1;
INSERT INTO span_attribute SELECT run_id, span_id + 10000, key, value FROM span_attribute
  WHERE run_id = 3 AND span_id + 10000 IN (SELECT span_id FROM span WHERE run_id = 3);
INSERT INTO span_counter SELECT run_id, span_id + 10000, name, value FROM span_counter
  WHERE run_id = 3 AND span_id + 10000 IN (SELECT span_id FROM span WHERE run_id = 3);
UPDATE run SET iterations = 3 WHERE run_id = 3;
