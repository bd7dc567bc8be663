-- The table span of schema.sql as ingest stores it. Names and types are stored once for each site, and a view joins
-- them. Text costs DuckDB ten times as much as a number.
--
-- DuckDB takes about 20 ns for a number and 140 ns for a text, a third of it for compression: the two texts were 277 of
-- the 604 ns of a row. The join on the site's key changes an analysis's processor time by -13 to +23 % (18 single runs
-- of 11 analyses, on 10 M spans of a CPU and of a GPU). Files of format 1 still open.
--
-- Refused: moving level, process, thread, device, stream and depth to a table of kinds, too (250 ns a row), because
-- DuckDB then expects far fewer spans and builds its hash tables of the spans, so that analyses of layers took 2 to 3
-- times as long; lists in the view instead of joins, for names (slower to group by) or for process, thread, device,
-- stream and depth (up to 75 % more); outer joins, which DuckDB does not leave out when no name is asked for; columns
-- of one struct, which spare the counting of distinct values (250 to 187 ns) and with it the optimiser's knowledge;
-- forced compression (bitpacking 247 of 250 ns, run lengths 309, none 257).
--
-- The views attribute and counter join the facts of a site (site_attribute, site_counter) to every span: a layer has
-- some ten such facts and is executed a thousand times, so that written per span they would outnumber the spans
-- tenfold. The column span.level is the number, as in the trace; run.levels is text, because people read and write it.

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
