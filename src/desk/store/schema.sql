-- The tables of an .xsp file, which is a DuckDB database. Other tools may rely on them; columns are only
-- added. Times are nanoseconds of UNIX time, sizes bytes; units come last in a name.

CREATE TABLE evaluation(
  key VARCHAR PRIMARY KEY,        -- xsp_format (of these tables, '1' or '2'), model, framework, framework_version,
                                  -- device, command, xsp_version, ...; texts_replaced: how many texts of this file were
                                  -- not UTF-8, too long or had control characters, and were kept with U+FFFD in place
                                  -- of the invalid part
  value VARCHAR NOT NULL);

-- One measured execution: one model, batch size and set of levels, in one worker process.
CREATE TABLE run(
  run_id INTEGER PRIMARY KEY,
  levels VARCHAR NOT NULL,        -- levels recorded while it ran: 'model,layer'
  batch INTEGER,
  counters VARCHAR,               -- requested hardware counters; NULL: none
  framework VARCHAR,
  framework_version VARCHAR,
  device VARCHAR,                 -- 'cpu', 'cuda:0'
  threads INTEGER,
  warmup_iterations INTEGER,      -- number of iterations that warm-up detection found; their numbers are negative
  iterations INTEGER,             -- measured iterations, without warm-up
  status VARCHAR NOT NULL,        -- 'ok', 'interrupted', 'failed'
  reason VARCHAR,                 -- one line, unless status is 'ok'
  stopped_by VARCHAR);            -- 'interval', 'time', 'iterations', 'interrupt', 'failure'; for a watched program
                                  -- 'end', or 'size': the limit on the size of traces

-- Consecutive iterations of one run; the blocks of an experiment's runs are interleaved.
CREATE TABLE block(
  run_id INTEGER NOT NULL,
  block INTEGER NOT NULL,         -- round of the interleaving, from 0
  first_iteration INTEGER NOT NULL, -- in the numbering of span.iteration: 0 is the first after warm-up
  iterations INTEGER NOT NULL,
  start_ns BIGINT NOT NULL,
  duration_ns BIGINT NOT NULL,
  cpu_mhz DOUBLE,                 -- mean over cores, at the block's end; NULL: not measured
  temperature_c DOUBLE,           -- NULL: not measured
  load_1min DOUBLE,
  -- State of the GPU that the model runs on, at the block's end. For its state at the beginning, see the previous
  -- block. NULL: no GPU, or not known.
  gpu_sm_clock_mhz DOUBLE,
  gpu_memory_clock_mhz DOUBLE,
  gpu_temperature_c DOUBLE,
  gpu_power_w DOUBLE,             -- mean of about the last second
  gpu_throttle_reasons VARCHAR);  -- what reduced its clock since the block before; '': nothing

-- In files of format 2, which ingest writes, span is a view of the same columns: see spans.sql.
CREATE TABLE span(
  run_id INTEGER NOT NULL,
  span_id BIGINT NOT NULL,        -- unique within a run, from 1; a child's may be larger or smaller than its parent's
  parent_id BIGINT,               -- NULL: a root, or unattributed (see the audit)
  level TINYINT NOT NULL,         -- 1 application 2 model 3 layer 4 library 5 api 6 kernel
  name VARCHAR NOT NULL,
  type VARCHAR,                   -- operator type of a layer, kind of a kernel, ...
  iteration INTEGER,              -- of the model span that contains it; negative: warm-up; NULL: outside
  ordinal INTEGER,                -- position among the spans of its level in its model span, from 0
  start_ns BIGINT NOT NULL,
  duration_ns BIGINT NOT NULL,    -- an open span (the process died) lasts until the trace's last moment
  process INTEGER,
  thread INTEGER,
  device INTEGER,                 -- NULL: the host
  stream INTEGER,
  correlation_id BIGINT,
  model_id BIGINT,                -- the nearest ancestors, itself included: no join needed
  layer_id BIGINT,
  site_id INTEGER NOT NULL,       -- the site that emitted it, unique within a run
  depth SMALLINT NOT NULL,        -- nesting within its level: 0 is outermost
  self_ns BIGINT NOT NULL,        -- duration minus the union of its children's times
  is_open BOOLEAN NOT NULL);      -- it never ended: the process died

-- Facts about one span, and facts about every span of a site. The views join them.
CREATE TABLE span_attribute(run_id INTEGER, span_id BIGINT, key VARCHAR, value VARCHAR);
CREATE TABLE span_counter(run_id INTEGER, span_id BIGINT, name VARCHAR, value DOUBLE);
CREATE TABLE site_attribute(run_id INTEGER, site_id INTEGER, key VARCHAR, value VARCHAR);
CREATE TABLE site_counter(run_id INTEGER, site_id INTEGER, name VARCHAR, value DOUBLE);

CREATE VIEW attribute AS
  SELECT run_id, span_id, key, value FROM span_attribute
  UNION ALL
  SELECT run_id, span_id, key, value FROM span JOIN site_attribute USING (run_id, site_id);
CREATE VIEW counter AS
  SELECT run_id, span_id, name, value FROM span_counter
  UNION ALL
  SELECT run_id, span_id, site_counter.name AS name, value
  FROM span JOIN site_counter USING (run_id, site_id);

-- The lost data by source and cause. An empty table means that nothing was lost.
CREATE TABLE loss(run_id INTEGER, source VARCHAR NOT NULL, cause VARCHAR NOT NULL, count BIGINT NOT NULL);

-- Counts from the ingest of a run's trace; with `loss`, the evidence of the conservation audit. Every run
-- that has a trace has every name.
--   spans                  rows of span
--   open_spans             spans that never ended: the process died
--   trace_complete         1: the process closed its trace; 0: the trace is cut short
--   roots                  spans without a parent that need none: those at the levels application and model
--   unattributed           spans without a parent below the level model
--   ambiguous              spans that overlap one of a higher level on their thread, neither containing the other
--   clipped                children that extend past their parent, by no more than the tolerance between
--                          the clocks of two profilers
--   clipped_max_ns         the most by which one of them extends past its parent
--   overlapping            neighbours on one thread of which neither contains the other
--   launches               spans on the host that carry a correlation id
--   executions             spans that ran on a device
--   executions_unmatched   executions whose launch is not in the trace
--   launches_unmatched     launches whose execution is not in the trace
-- A copy that xsp condense wrote has four more:
--   condensed_inferences   inferences that the copy leaves out, with their latency
--   condensed_spans        spans that the copy leaves out; two checks would have counted some of them:
--   condensed_outside      spans outside of the inferences
--   condensed_idle_calls   calls that need no execution
CREATE TABLE audit_fact(run_id INTEGER NOT NULL, name VARCHAR NOT NULL, value BIGINT NOT NULL);

-- The layers of the model's own file, in its order, including layers that were not executed.
CREATE TABLE model_layer(
  ordinal INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  type VARCHAR NOT NULL);

-- Ceilings: the highest rates that the machine can reach.
CREATE TABLE peak(
  device VARCHAR NOT NULL,        -- 'cpu', 'cuda:0'
  name VARCHAR NOT NULL,          -- 'fp32_flops_per_s', 'memory_bytes_per_s', ...
  value DOUBLE NOT NULL,
  source VARCHAR NOT NULL);       -- 'measured', 'datasheet', 'attribute'

-- Figures of an evaluation that are no spans, such as the behaviour under load, are here. Older files do not have this
-- table, and it counts as empty there.
CREATE TABLE result(
  metric VARCHAR NOT NULL,        -- 'top1', 'latency.p99', 'rate', ...
  value DOUBLE,                   -- NULL: not measured; the note says why
  low DOUBLE,                     -- 95 % interval; NULL: none
  high DOUBLE,
  unit VARCHAR NOT NULL,          -- 'ns', 'per_s', 'share', 'count', ...
  run_id INTEGER,                 -- NULL: of no single run
  note VARCHAR);
