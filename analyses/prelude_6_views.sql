-- Views for the user's own queries, in which a simple query gives the right numbers: executions in the typical
-- inferences, without warm-up, from the run that provides the level's own numbers. They hold all batch sizes: group by
-- `batch`, or choose one. Loaded last.

-- One row for each typical inference.
CREATE OR REPLACE TEMP VIEW inference AS
  SELECT i.batch, i.iteration, i.start_ns, i.duration_ns
  FROM measured_inference i JOIN source_run s USING (run_id) WHERE s.level = 2 AND i.is_typical;
-- One row for each execution of a layer; self_ns is without the layers inside it.
CREATE OR REPLACE TEMP VIEW layer AS
  SELECT i.batch, i.iteration, s.ordinal, s.name, s.type, s.depth, s.start_ns, s.duration_ns,
    CASE WHEN r.on_device THEN s.duration_ns ELSE s.self_ns END AS self_ns
  FROM layer_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
  WHERE i.is_typical AND s.level = 3 AND NOT s.is_open AND (s.device IS NOT NULL) = r.on_device;
-- One row for each execution of a kernel, with the innermost layer that launched it.
CREATE OR REPLACE TEMP VIEW kernel AS
  SELECT i.batch, i.iteration, s.ordinal, kernel_label(s.name) AS label, s.name, l.name AS layer, s.stream, s.start_ns,
    s.duration_ns
  FROM source_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE r.level = 6 AND i.is_typical AND s.level = 6 AND is_kernel(s.type) AND NOT s.is_open;
