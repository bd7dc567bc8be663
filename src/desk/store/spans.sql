-- The table span of schema.sql as ingest stores it. Names and types are stored once for each site, and a view joins
-- them. Text costs DuckDB ten times as much as a number.

DROP TABLE span;
CREATE TABLE span_site(
  site_id INTEGER PRIMARY KEY,    -- unique within the file
  name VARCHAR NOT NULL,
  type VARCHAR);
CREATE TABLE span_row(
  run_id INTEGER NOT NULL,
  span_id BIGINT NOT NULL,
  parent_id BIGINT,
  level TINYINT NOT NULL,
  iteration INTEGER,
  ordinal INTEGER,
  start_ns BIGINT NOT NULL,
  duration_ns BIGINT NOT NULL,
  process INTEGER,
  thread INTEGER,
  device INTEGER,
  stream INTEGER,
  correlation_id BIGINT,
  model_id BIGINT,
  layer_id BIGINT,
  site_id INTEGER NOT NULL,
  depth SMALLINT NOT NULL,
  self_ns BIGINT NOT NULL,
  is_open BOOLEAN NOT NULL);
CREATE VIEW span AS
  SELECT run_id, span_id, parent_id, level, name, type, iteration, ordinal, start_ns, duration_ns, process, thread,
    device, stream, correlation_id, model_id, layer_id, site_id, depth, self_ns, is_open
  FROM span_row JOIN span_site USING (site_id);
UPDATE evaluation SET value = '2' WHERE key = 'xsp_format';
