-- @needs causes
-- This file fills the tables about the causes of a step's time, which prelude_1_subject.sql makes.

INSERT INTO finding_step BY NAME SELECT 'step' AS unit, step_ns, inferences FROM program_step;
INSERT INTO finding_step_cause BY NAME FROM step_cause;
INSERT INTO finding_device BY NAME
  SELECT DISTINCT device FROM span WHERE run_id = finding_run_id() AND level = 6 AND device IS NOT NULL;
INSERT INTO finding_pageable BY NAME
  SELECT l.name AS layer, count(*) AS copies, avg(c.value) AS bytes
  FROM span s JOIN site_attribute a USING (run_id, site_id)
    JOIN span_counter c ON c.run_id = s.run_id AND c.span_id = s.span_id AND c.name = 'bytes'
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE s.run_id = finding_run_id() AND s.level = 6 AND a.key = 'memory'
    AND a.value LIKE '%pageable%' AND a.value LIKE '%device%'
  GROUP BY l.name HAVING avg(c.value) >= 65536;
INSERT INTO finding_read BY NAME
  SELECT l.name AS layer, any_value(l.type) AS type
  FROM span s LEFT JOIN span_counter c ON c.run_id = s.run_id AND c.span_id = s.span_id AND c.name = 'bytes'
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE s.run_id = finding_run_id() AND s.level = 6 AND s.type IN ('copy', 'memcpy')
  GROUP BY l.name HAVING bool_and(s.name = 'memcpy DtoH') AND max(c.value) <= 1024;
