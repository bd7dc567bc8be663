-- @needs watched
-- The steps of a program that xsp watched, and what they are made of: loaded after prelude_1_facts.sql, whose tables
-- finding_step and finding_time it fills anew.

CREATE OR REPLACE TEMP TABLE finding_steps AS SELECT * FROM program_steps(true);
CREATE OR REPLACE TEMP TABLE finding_step_cause AS
  SELECT * FROM step_causes((SELECT batch FROM finding_batch))
    AS one(cause, culprit, layer, place, time_ns, hidden_ns, calls);
CREATE OR REPLACE TEMP TABLE finding_watched_step AS
  SELECT 'step' AS unit, step_ns, inferences FROM program_step();
DELETE FROM finding_step WHERE EXISTS (FROM finding_watched_step);
INSERT INTO finding_step FROM finding_watched_step;
-- Large copies between pageable memory of the host and a device, by the layer that asks for them: a few bytes are not
-- worth pinning.
CREATE OR REPLACE TEMP TABLE finding_pageable AS
  SELECT l.name AS layer, count(*) AS copies, avg(c.value) AS bytes
  FROM span s JOIN site_attribute a USING (run_id, site_id)
    JOIN span_counter c ON c.run_id = s.run_id AND c.span_id = s.span_id AND c.name = 'bytes'
    LEFT JOIN span l ON l.run_id = s.run_id AND l.span_id = s.layer_id
  WHERE s.run_id = cause_run((SELECT batch FROM finding_batch)) AND s.level = 6 AND a.key = 'memory'
    AND a.value LIKE '%pageable%' AND a.value LIKE '%device%'
  GROUP BY l.name HAVING avg(c.value) >= 65536;
-- Layers that run nowhere but where a batch is prepared.
CREATE OR REPLACE TEMP TABLE finding_data_layer AS
  SELECT l.name
  FROM (SELECT DISTINCT run_id, site_id, name FROM span
        WHERE run_id = cause_run((SELECT batch FROM finding_batch)) AND level = 3) l
    LEFT JOIN site_attribute a ON a.run_id = l.run_id AND a.site_id = l.site_id AND a.key = 'phase'
  GROUP BY l.name HAVING bool_and(coalesce(a.value = 'data', false));
DELETE FROM finding_time;
INSERT INTO finding_time
  WITH whole AS (SELECT sum(time_ns) AS recorded_ns FROM finding_step_cause)
  SELECT CASE WHEN c.cause IN ('compute', 'host code', 'framework')
        AND (contains(c.culprit, 'DataLoader') OR c.layer IN (SELECT name FROM finding_data_layer)) THEN 'data'
      ELSE c.cause END AS cause, c.culprit, c.layer, c.place, time_ns * (step_ns / recorded_ns) AS ns, calls,
    CASE WHEN c.cause IN ('copy', 'copy preparation', 'synchronisation') AND contains(lower(c.culprit), 'memcpy')
        AND EXISTS (FROM finding_pageable p WHERE p.layer IS NOT DISTINCT FROM c.layer) THEN 'pageable'
      WHEN c.layer IN (SELECT name FROM finding_data_layer) THEN NULL
      ELSE work_kind(c.culprit, c.layer) END AS kind
  FROM finding_step_cause c, whole, finding_step;
