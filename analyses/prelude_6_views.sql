-- Views for the user's own queries, in which a simple query gives the right numbers: executions in the typical
-- inferences, without warm-up, from the run that provides the level's own numbers. They hold all batch sizes: group by
-- `batch`, or choose one. Loaded last.

-- One row for each typical inference.
CREATE OR REPLACE TEMP VIEW inference AS
  SELECT i.batch, i.iteration, i.start_ns, i.duration_ns
  FROM measured_inference i JOIN source_run s USING (run_id) WHERE s.level = 2 AND i.is_typical;
-- One row for each execution of a layer; self_ns is without the layers inside it.
CREATE OR REPLACE TEMP VIEW layer AS
  SELECT i.batch, i.iteration, s.ordinal, s.name, s.type, s.depth, s.start_ns, s.duration_ns, s.self_ns
  FROM layer_run JOIN measured_inference i USING (run_id)
    JOIN layer_span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
  WHERE i.is_typical;
-- One row for each execution of a kernel, with the innermost layer that launched it.
CREATE OR REPLACE TEMP VIEW kernel AS
  SELECT i.batch, i.iteration, s.ordinal, kernel_label(s.name) AS label, s.name, l.name AS layer, s.stream, s.start_ns,
    s.duration_ns
  FROM source_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE r.level = 6 AND i.is_typical AND s.level = 6 AND is_kernel(s.type) AND NOT s.is_open;

-- ---- For the audit ------------------------------------------------------------------------------------------

-- Returns the spans below the level model without a parent because they ran before, between or after inferences, when a
-- framework opens the model or copies inputs; or because they are a profiler's own work, on its own threads.
CREATE OR REPLACE TEMP MACRO spans_outside() AS TABLE
  SELECT s.run_id, s.span_id FROM (
    SELECT run_id, span_id, start_ns, type FROM span WHERE parent_id IS NULL AND level > 2) s
    ASOF LEFT JOIN (SELECT run_id, start_ns, start_ns + duration_ns AS end_ns FROM span WHERE level = 2) m
      ON m.run_id = s.run_id AND m.start_ns <= s.start_ns
  WHERE m.end_ns IS NULL OR m.end_ns <= s.start_ns OR s.type = 'overhead';
-- Returns the calls that need no execution in the trace: nothing else recorded kernels, or a copy moved no bytes.
CREATE OR REPLACE TEMP MACRO idle_calls() AS TABLE
  SELECT c.run_id, c.span_id FROM span c JOIN run r USING (run_id)
    LEFT JOIN (SELECT DISTINCT run_id, correlation_id, true AS executed FROM span
               WHERE level = 6 AND correlation_id IS NOT NULL) e USING (run_id, correlation_id)
  WHERE c.level = 5 AND c.correlation_id IS NOT NULL AND executed IS NULL
    AND (coalesce(c.type, '') NOT IN ('launch', 'graph_launch')
         OR NOT list_contains(string_split(r.levels, ','), 'kernel'));
