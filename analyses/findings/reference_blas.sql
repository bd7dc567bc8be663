-- @title Reference BLAS
-- @rule The step computes in the reference BLAS, which uses neither vector instructions nor several threads.
-- @needs watched
-- Its file has the version of LAPACK in its name (libblas.so.3.11.0). Optimised libraries that take its place have a
-- name or a folder of their own.
WITH slow AS (
  SELECT stack_id, any_value(parse_filename(file)) AS library FROM stack
  WHERE run_id = finding_run_id() AND kind = 'native'
    AND regexp_matches(file, '/lib(blas|lapack)\.so\.3\.\d') AND NOT regexp_matches(file, 'atlas|openblas|blis|mkl')
  GROUP BY stack_id),
looked AS (
  SELECT s.duration_ns, library, own_function, place
  FROM sample s ASOF JOIN finding_steps t
      ON t.run_id = s.run_id AND t.process = s.process AND coalesce(t.thread, 0) = s.thread AND s.time_ns >= t.start_ns
    LEFT JOIN slow USING (stack_id)
    LEFT JOIN stack_facts(finding_run_id()) USING (stack_id)
  WHERE s.run_id = finding_run_id() AND t.part = 'steady' AND s.time_ns < t.end_ns),
spent AS (
  SELECT least(step_ns * sum(duration_ns) FILTER (library IS NOT NULL) / sum(duration_ns),
      (SELECT sum(ns) FROM finding_time WHERE cause = 'compute')) AS ns,
    mode(library) AS library, mode(own_function) FILTER (library IS NOT NULL) AS own_function,
    mode(place) FILTER (library IS NOT NULL) AS place
  FROM looked, finding_step GROUP BY step_ns HAVING count(library) > 0)
SELECT concat('Linear algebra takes ', step_share(ns), ' in ', library,
    ', the reference BLAS, which uses neither vector instructions nor several threads',
    coalesce(', mostly for ' || blame_text(own_function, NULL, place), ''), '.') AS finding,
  'library' AS level, ns AS gain_ns,
  'Install an optimised BLAS, such as OpenBLAS (libopenblas0-pthread in Debian), which takes its place.' AS advice,
  'flame_graph' AS evidence, concat('No sample of flame_graph must be in ', library, '.') AS check,
  library AS culprit, NULL AS layer
FROM spent
