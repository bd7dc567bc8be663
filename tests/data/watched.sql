-- After gpu.sql: the same inferences as the steps of a program that was watched, in one process, run after run. The
-- step of the run that recorded the model alone takes as long as from one inference's start to the next.
INSERT INTO evaluation VALUES ('recorded_by', 'xsp run');
DELETE FROM run WHERE batch = 2 OR counters IS NOT NULL;
DELETE FROM span WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM block;
UPDATE span SET process = 1, thread = CASE WHEN device IS NULL THEN 1 END, 
  start_ns = start_ns + CAST(1e9 AS BIGINT) * run_id - 98800000 * iteration WHERE iteration IS NOT NULL;
