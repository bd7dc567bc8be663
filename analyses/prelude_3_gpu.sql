-- The analyses of the device share these macros, which are loaded after prelude_2_layers.sql: kernels and their place
-- in the layers, their counters, and the ceilings that apply to them.
--
-- Every number comes from the run at its own level: a layer's latency from the layer run, a kernel's duration from the
-- kernel run without counters, counters from the runs that counted. The numbers of two runs are joined by the layer and
-- the kernel's position within the layer. If the two runs have different kernels there, the result says so, and nothing
-- is joined.

-- ---- Runs ----------------------------------------------------------------------------------------------

CREATE OR REPLACE TEMP VIEW counter_run AS
  SELECT run_id, coalesce(batch, 1) AS batch, device FROM run
  WHERE has_counters(counters) AND status <> 'failed' AND iterations > 0 AND deepest_level(levels) = 6;
CREATE OR REPLACE TEMP VIEW energy_run AS
  SELECT run_id, coalesce(batch, 1) AS batch, device FROM run
  WHERE list_has_any(list_transform(string_split(counters, ','), lambda one: trim(one)), ['energy', 'layer_energy'])
    AND status <> 'failed' AND iterations > 0;
-- The samples of the device: one row for each period.
CREATE OR REPLACE TEMP VIEW device_sample AS
  WITH sample AS (
    SELECT run_id, span_id, start_ns, duration_ns, device FROM span
    WHERE level = 1 AND name = 'sample' AND device IS NOT NULL AND NOT is_open),
  value AS (
    SELECT run_id, span_id, max(value) FILTER (name = 'energy_j') AS energy_j,
      max(value) FILTER (name = 'power_w') AS power_w, max(value) FILTER (name = 'sm_clock_mhz') AS sm_clock_mhz,
      max(value) FILTER (name = 'memory_clock_mhz') AS memory_clock_mhz,
      max(value) FILTER (name = 'temperature_c') AS temperature_c
    FROM span_counter WHERE run_id IN (SELECT run_id FROM sample) GROUP BY run_id, span_id),
  reason AS (
    SELECT run_id, span_id, any_value(value) AS throttle_reasons FROM span_attribute
    WHERE key = 'throttle_reasons' GROUP BY run_id, span_id)
  SELECT s.*, v.* EXCLUDE (run_id, span_id), throttle_reasons
  FROM sample s LEFT JOIN value v USING (run_id, span_id) LEFT JOIN reason USING (run_id, span_id);
-- Returns how the interval of an energy was computed from this number of samples, or why there is none.
CREATE OR REPLACE TEMP MACRO uncertainty_note(samples) AS CASE
  WHEN coalesce(samples, 0) >= 3 THEN printf('95 %%: Student''s t, %d degrees of freedom', CAST(samples - 1 AS BIGINT))
  ELSE printf('no interval: %d of 3 samples', CAST(coalesce(samples, 0) AS BIGINT)) END;
CREATE OR REPLACE TEMP MACRO device_number(device) AS
  CASE WHEN device LIKE 'cuda%' THEN coalesce(try_cast(string_split(device, ':')[2] AS INTEGER), 0) END;

-- Each macro why_no_* is for a need other than a level. It returns NULL if the need was measured, else the reason. The
-- need `peak` uses why_no_peak().
CREATE OR REPLACE TEMP MACRO why_no_counters() AS CASE
  WHEN EXISTS (SELECT 1 FROM counter_run r JOIN span_counter c USING (run_id) JOIN span s USING (run_id, span_id)
               WHERE s.level = 6) THEN NULL
  WHEN EXISTS (FROM counter_run) THEN 'counters of the kernels: the runs that counted recorded none'
  ELSE coalesce(
    (SELECT concat('counters of the kernels: ', value) FROM evaluation WHERE key = 'not_measured.roofline'),
    (SELECT concat('counters of the kernels: ', reason) FROM run
     WHERE has_counters(counters) AND deepest_level(levels) = 6 AND reason <> '' ORDER BY run_id LIMIT 1),
    CASE WHEN NOT EXISTS (SELECT 1 FROM run WHERE device LIKE 'cuda%') THEN why_no_level('kernel') END,
    'counters of the kernels: profile with --counters roofline') END;
CREATE OR REPLACE TEMP MACRO why_no_memory() AS CASE
  WHEN why_no_level('kernel') IS NOT NULL THEN why_no_level('kernel')
  WHEN NOT EXISTS (SELECT 1 FROM measured_run r JOIN span s USING (run_id)
                   WHERE r.level = 6 AND s.level = 5 AND s.type = 'memory')
    THEN 'memory: nothing was allocated or released in the runs that recorded the level api'
  WHEN NOT EXISTS (SELECT 1 FROM measured_run r JOIN span s USING (run_id) JOIN span_counter c USING (run_id, span_id)
                   WHERE r.level = 6 AND s.level = 5 AND s.type = 'memory' AND c.name = 'allocated_bytes')
    THEN 'memory: the totals are not known after a turn without the level api: xsp run --leveled=runs has no turns' END;
CREATE OR REPLACE TEMP MACRO why_no_energy() AS CASE
  WHEN EXISTS (SELECT 1 FROM energy_run JOIN device_sample USING (run_id) WHERE energy_j IS NOT NULL) THEN NULL
  WHEN EXISTS (FROM energy_run) THEN 'energy: the runs that counted it have no samples: run them for longer'
  ELSE coalesce(
    (SELECT concat('energy: ', value) FROM evaluation WHERE key = 'not_measured.energy'),
    (SELECT concat('energy: ', reason) FROM run
     WHERE counters LIKE '%energy%' AND reason <> '' ORDER BY run_id LIMIT 1),
    CASE WHEN NOT EXISTS (SELECT 1 FROM run WHERE device LIKE 'cuda%') THEN 'no GPU: the runs were on the CPU' END,
    'energy: profile with --counters energy') END;
-- The samples of the energy that lie wholly within the stretch of their run's inferences.
CREATE OR REPLACE TEMP VIEW energy_sample AS
  WITH stretch AS (
    SELECT r.run_id, r.batch, min(s.start_ns) AS start_ns, max(s.start_ns + s.duration_ns) AS end_ns
    FROM energy_run r JOIN span s USING (run_id)
    WHERE s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open GROUP BY ALL)
  SELECT t.run_id, t.batch, d.start_ns, d.duration_ns, d.energy_j,
    CASE WHEN d.start_ns >= t.start_ns + 1e9 OR t.end_ns - t.start_ns < 1.5e9 THEN d.power_w END AS power_w
  FROM stretch t JOIN device_sample d USING (run_id) JOIN energy_run r USING (run_id)
  WHERE d.start_ns >= t.start_ns AND d.start_ns + d.duration_ns <= t.end_ns AND d.energy_j IS NOT NULL
    AND d.device = coalesce(device_number(r.device), d.device);
-- The number of inferences within these samples. Those at their edges count in part.
CREATE OR REPLACE TEMP VIEW energy_inferences AS
  SELECT i.run_id, sum(CAST(least(s.start_ns + s.duration_ns, i.start_ns + i.duration_ns)
                            - greatest(s.start_ns, i.start_ns) AS DOUBLE) / s.duration_ns) AS inferences
  FROM energy_sample i JOIN span s ON s.run_id = i.run_id AND s.start_ns < i.start_ns + i.duration_ns
    AND s.start_ns + s.duration_ns > i.start_ns
  WHERE s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open AND s.duration_ns > 0
  GROUP BY i.run_id;
-- The layers that were repeated alone: one row for each, and one for the whole inference.
CREATE OR REPLACE TEMP VIEW repetition AS
  SELECT s.run_id, s.span_id, s.name, s.type = 'repetition of all' AS is_all, s.start_ns, s.duration_ns, s.device,
    c.value AS replays
  FROM energy_run r JOIN span s USING (run_id) JOIN span_counter c USING (run_id, span_id)
  WHERE s.level = 1 AND s.type IN ('repetition', 'repetition of all') AND c.name = 'replays' AND NOT s.is_open;
CREATE OR REPLACE TEMP MACRO why_no_layer_energy() AS CASE
  WHEN EXISTS (FROM repetition WHERE NOT is_all) THEN NULL
  ELSE coalesce(
    (SELECT concat('energy of layers: ', value) FROM evaluation WHERE key = 'not_measured.layer_energy'),
    CASE WHEN NOT EXISTS (SELECT 1 FROM run WHERE device LIKE 'cuda%') THEN 'no GPU: the runs were on the CPU' END,
    'energy of layers: profile with --counters energy,layer_energy, in PyTorch, a model that fits a CUDA graph') END;
CREATE OR REPLACE TEMP MACRO why_no_clocks() AS CASE
  WHEN EXISTS (SELECT 1 FROM block WHERE coalesce(gpu_sm_clock_mhz, gpu_temperature_c, gpu_power_w) IS NOT NULL)
    OR EXISTS (FROM device_sample) THEN NULL
  WHEN NOT EXISTS (SELECT 1 FROM run WHERE device LIKE 'cuda%') THEN 'no GPU: the runs were on the CPU'
  ELSE 'clocks: nothing told the state of the device: see xsp doctor' END;
-- Returns the batch sizes at which the need was measured.
CREATE OR REPLACE TEMP MACRO measured_batches(need) AS TABLE
  SELECT DISTINCT batch FROM (
    SELECT batch FROM source_run WHERE level = level_number(CASE need WHEN 'memory' THEN 'kernel' ELSE need END)
    UNION ALL SELECT coalesce(batch, 1) FROM run WHERE need IN ('steps', 'watched') AND status <> 'failed'
    UNION ALL SELECT batch FROM counter_run WHERE need = 'counters'
    UNION ALL SELECT batch FROM energy_run WHERE need = 'energy'
    UNION ALL SELECT batch FROM energy_run JOIN repetition USING (run_id) WHERE need = 'layer_energy')
  ORDER BY batch;

-- ---- Ceilings of the device ----------------------------------------------------------------------------

CREATE OR REPLACE TEMP VIEW pipe_counter AS
  SELECT * FROM (VALUES
    ('fp64_flops', 'fp64'), ('fp32_flops', 'fp32'), ('fp16_flops', 'fp16'),
    ('tensor_fp16_flops', 'fp16_tensor'), ('tensor_bf16_flops', 'bf16_tensor'),
    ('tensor_half_flops', 'half_tensor'), ('tensor_tf32_flops', 'tf32_tensor'),
    ('tensor_fp8_flops', 'fp8_tensor'), ('tensor_fp64_flops', 'fp64_tensor'),
    ('tensor_int8_ops', 'int8_tensor')) AS t(counter, pipe);
-- Returns the name of a pipe's ceiling, and of the one that replaces it if it is not known: fp16 and bf16 have the same
-- rate, and some hardware counts them together (half).
CREATE OR REPLACE TEMP MACRO peak_name_of(pipe) AS CASE pipe
  WHEN 'int8_tensor' THEN 'int8_tensor_ops_per_s' WHEN 'half_tensor' THEN 'fp16_tensor_flops_per_s'
  ELSE concat(pipe, '_flops_per_s') END;
CREATE OR REPLACE TEMP MACRO like_peak_name_of(pipe) AS CASE
  WHEN pipe IN ('half_tensor', 'fp16_tensor') THEN 'bf16_tensor_flops_per_s'
  WHEN pipe = 'bf16_tensor' THEN 'fp16_tensor_flops_per_s' END;
-- Returns the ceilings of the devices of some runs, one of each name: from the requested source (measured, attribute)
-- if it has one.
CREATE OR REPLACE TEMP MACRO ceilings(run_ids, wanted_source) AS TABLE
  SELECT run_id, name, max_by(p.value, rank) AS value, max_by(source, rank) AS source
  FROM (SELECT *, 2 * CAST(source = wanted_source AS INTEGER) + CAST(source = 'measured' AS INTEGER) AS rank
        FROM peak) p
    JOIN run_device r ON r.device = p.device AND list_contains(run_ids, r.run_id)
  GROUP BY run_id, name;
-- Returns the least time that the ceilings of arithmetic and memory allow. NULL: a ceiling that is needed is not known.
CREATE OR REPLACE TEMP MACRO least_ns(flops, bytes, peak_flops, peak_bytes) AS
  CASE WHEN bytes IS NOT NULL AND (flops = 0 OR flops / peak_flops IS NOT NULL)
       THEN 1e9 * greatest(flops / peak_flops, bytes / peak_bytes) END;
-- Returns the least time that all ceilings of a device allow, that of the L2 cache as well, if its counter and ceiling
-- are known. Only a device's counters tell the bytes of the cache, so findings that shapes alone can give use least_ns.
CREATE OR REPLACE TEMP MACRO allowed_ns(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes) AS
  CASE WHEN least_ns(flops, dram_bytes, peak_flops, peak_bytes) IS NOT NULL THEN
    greatest(least_ns(flops, dram_bytes, peak_flops, peak_bytes), 1e9 * l2_bytes / peak_l2_bytes) END;
-- Returns the ceiling of several kernels: their flops over the least time in which they can be done, if each runs at
-- its own ceiling. It is unknown if that of any kernel with flops is unknown.
CREATE OR REPLACE TEMP MACRO mixed_peak(flops, peak_flops) AS
  CASE WHEN count(*) FILTER (flops > 0 AND peak_flops IS NULL) = 0 THEN
    coalesce(sum(flops) FILTER (flops > 0) / sum(flops / peak_flops) FILTER (flops > 0), max(peak_flops)) END;
-- Returns the mean weighted by time, over the kernels with a known value.
CREATE OR REPLACE TEMP MACRO weighted_mean(value, weight) AS
  sum(value * weight) / nullif(sum(weight) FILTER (value IS NOT NULL), 0);

-- Returns a kernel's name for the user: without its return type, its arguments and most of its template's. For a
-- template that runs any given kernel, returns that kernel's name.
CREATE OR REPLACE TEMP MACRO kernel_label(name) AS
  regexp_replace(regexp_replace(
      regexp_replace(replace(name, '(anonymous namespace)::', ''),
        '^(void|static|auto|std::enable_if<.*?>::type) ', ''),
    '^(?:cutlass\w*::|cutlass)\w*(?:Kernel|kernel)\w*<([\w:]+).*$', '\1'), '[<(].*$', '')
  || coalesce(' ' || coalesce(nullif(regexp_extract(name, '.*\b(\w*Functor\w*)', 1), ''),
                              nullif(regexp_extract(name, '(\w+_kernel_cuda)', 1), '')), '');

-- ---- Kernels -------------------------------------------------------------------------------------------

-- Returns each execution of a kernel in the runs given as a list, and its place in the inference: its layer's site
-- (NULL: in no layer), how often that layer had been executed before in this inference, and its position among the
-- kernels of that execution in the order of their launches, each from 0. Copies and memory sets are no kernels. The
-- window over kernels has one number as its key, the layer (or else the inference) and the run, because it then sorts
-- twice as fast. With `most`, only about so many inferences are used. They are chosen by a hash, so the choice is the
-- same each time.
CREATE OR REPLACE TEMP MACRO is_sampled(iteration, run_ids, most) AS most IS NULL OR hash(iteration) %
  greatest(1, (SELECT CAST(ceil(max(typical) / most) AS UBIGINT) FROM run_latency
               WHERE list_contains(run_ids, run_id))) = 0;
CREATE OR REPLACE TEMP MACRO kernel_executions(run_ids, typical_only, most := NULL) AS TABLE
  WITH inference AS MATERIALIZED (
    SELECT run_id, process, iteration FROM measured_inference
    WHERE list_contains(run_ids, run_id) AND (is_typical OR NOT typical_only)
      AND is_sampled(iteration, run_ids, most))
  SELECT s.run_id, coalesce(s.process, 0) AS process, s.span_id, s.iteration, s.site_id, s.start_ns, s.duration_ns,
    l.layer_site, coalesce(l.occurrence, 0) AS occurrence,
    row_number() OVER (PARTITION BY 65536 * coalesce(s.layer_id, -s.model_id) + s.run_id
                       ORDER BY s.correlation_id, s.start_ns) - 1 AS position
  FROM span s JOIN inference i ON i.run_id = s.run_id AND i.iteration = s.iteration
      AND i.process = coalesce(s.process, 0)
    LEFT JOIN (
      SELECT run_id, span_id AS layer_id, site_id AS layer_site,
        row_number() OVER (PARTITION BY 65536 * model_id + run_id, site_id ORDER BY span.start_ns, span_id) - 1
          AS occurrence
      FROM span JOIN inference USING (run_id, iteration)
      WHERE level = 3 AND inference.process = coalesce(span.process, 0)) l
    ON l.run_id = s.run_id AND l.layer_id = s.layer_id
  WHERE s.level = 6 AND is_kernel(s.type) AND NOT s.is_open;
-- Returns the names of the sites of the same runs at one level.
CREATE OR REPLACE TEMP MACRO site_names(run_ids, wanted_level) AS TABLE
  SELECT run_id, site_id, any_value(name) AS name FROM span
  WHERE run_id IN (SELECT unnest(run_ids)) AND level = wanted_level GROUP BY run_id, site_id;
CREATE OR REPLACE TEMP MACRO kernel_run_ids(batches) AS
  (SELECT coalesce(list(run_id), []) FROM measured_run WHERE level = 6 AND list_contains(batches, batch));
CREATE OR REPLACE TEMP MACRO counter_run_ids(batches) AS
  (SELECT coalesce(list(run_id), []) FROM counter_run WHERE list_contains(batches, batch));
CREATE OR REPLACE TEMP MACRO kernel_batches() AS
  (SELECT coalesce(list(batch), []) FROM measured_run WHERE level = 6);

-- The operations that the typical inferences of the kernel runs executed, by site and by the layer that launched them.
-- A join, because DuckDB reads no spans at all if there is no run to read. Names belong to sites, so those of one
-- operation and one layer are enough.
CREATE OR REPLACE TEMP TABLE launched_operation AS
  -- @if has_device_work() else (run_id INTEGER, layer_site INTEGER, site_id INTEGER, is_kernel BOOLEAN,
  -- on_device BOOLEAN, layer VARCHAR, layer_type VARCHAR, name VARCHAR, executions BIGINT, total_ns HUGEINT)
  WITH wanted AS MATERIALIZED (SELECT unnest(kernel_run_ids(kernel_batches())) AS run_id),
  layer AS NOT MATERIALIZED (SELECT run_id, span_id, site_id, name, type FROM span JOIN wanted USING (run_id)
    WHERE level = 3),
  operation AS NOT MATERIALIZED (SELECT * FROM span JOIN wanted USING (run_id) WHERE level = 6),
  site AS (
    SELECT k.run_id, l.site_id AS layer_site, k.site_id, k.device IS NOT NULL AS on_device,
      min(k.layer_id) AS layer_id, min(k.span_id) AS span_id, count(*) AS executions, sum(k.duration_ns) AS total_ns
    FROM operation k LEFT JOIN (SELECT run_id, span_id, site_id FROM layer) l
        ON l.run_id = k.run_id AND l.span_id = k.layer_id
      JOIN measured_inference i ON i.run_id = k.run_id AND i.iteration = k.iteration
        AND i.process = coalesce(k.process, 0)
    WHERE NOT k.is_open AND i.is_typical GROUP BY ALL)
  SELECT s.run_id, layer_site, s.site_id, is_kernel(k.type) AS is_kernel, on_device, l.name AS layer,
    l.type AS layer_type, k.name, executions, total_ns
  FROM site s JOIN (SELECT run_id, span_id, name, type FROM operation) k USING (run_id, span_id)
    LEFT JOIN layer l ON l.run_id = s.run_id AND l.span_id = s.layer_id;
-- Returns the kernels of some of these runs.
CREATE OR REPLACE TEMP MACRO launched_kernels(run_ids) AS TABLE
  SELECT run_id, layer_site, site_id, sum(executions) AS executions, sum(total_ns) AS total_ns
  FROM launched_operation WHERE is_kernel AND list_contains(run_ids, run_id) GROUP BY ALL;
-- Returns one row for each kernel of an inference, in the kernel runs of the batch sizes given as a list. Kernels are
-- distinguished by their place (kernel_executions) and site. latency_ns is the mean, over the typical inferences, of
-- the kernel's time in one, like every figure of a run. With `most`, the places are those of about so many inferences.
-- The time of all executions of a site in a layer is spread over these places, so that sums by layer and by kernel stay
-- the same.
CREATE OR REPLACE TEMP MACRO kernels(batches, most := NULL) AS TABLE
  WITH place AS (
    SELECT e.run_id, layer_site, occurrence, position, site_id, count(*) AS executions, min(span_id) AS span_id,
      sum(e.duration_ns) AS total_ns, min(e.duration_ns) AS min_ns, max(e.duration_ns) AS max_ns
    FROM kernel_executions(kernel_run_ids(batches), true, most := most) e GROUP BY ALL),
  whole AS (SELECT * FROM launched_kernels(kernel_run_ids(batches)) WHERE most IS NOT NULL),
  spread AS (
    SELECT p.* EXCLUDE (executions, total_ns),
      coalesce(w.executions * (p.executions / sum(p.executions) OVER of_site), p.executions) AS executions,
      coalesce(w.total_ns * (p.total_ns / sum(p.total_ns) OVER of_site), p.total_ns) AS total_ns
    FROM place p LEFT JOIN whole w ON w.run_id = p.run_id AND w.site_id = p.site_id
      AND w.layer_site IS NOT DISTINCT FROM p.layer_site
    WINDOW of_site AS (PARTITION BY p.run_id, p.layer_site, p.site_id))
  SELECT p.run_id, r.batch, k.ordinal, p.layer_site, l.name AS layer, p.occurrence, p.position, p.site_id, k.name,
    k.type, k.stream, p.executions, p.executions / r.typical AS per_inference, total_ns / r.typical AS latency_ns,
    p.min_ns, p.max_ns
  FROM spread p JOIN run_latency r USING (run_id)
    JOIN (SELECT run_id, span_id, ordinal, name, type, stream FROM span
          WHERE run_id IN (SELECT unnest(kernel_run_ids(batches)))) k USING (run_id, span_id)
    LEFT JOIN site_names(kernel_run_ids(batches), 3) l ON l.run_id = p.run_id AND l.site_id = p.layer_site;

-- Compilers move constants by multiplying 16-bit numbers by zero (HFMA2), which the device counts as operations.
-- Returns whether all fp16 operations of a kernel are such moves, because its name tells other data.
CREATE OR REPLACE TEMP MACRO only_moves_fp16(name) AS
  regexp_matches(name, '\b(float|double|long)\b|f32|OpaqueType<|<bool,')
  AND NOT regexp_matches(lower(name), 'half|bfloat|bf16|(^|[^b])f16|fp16|_h\d|16816|1688h|hgemm');
-- Returns the counters of each kernel by batch size, place and name: means over the executions that have a value.
-- `moves` are the counted operations that are moves, and are not in the value of fp16_flops.
CREATE OR REPLACE TEMP MACRO counted_kernels(batches) AS TABLE
  SELECT r.batch, coalesce(l.name, '') AS layer, e.occurrence, e.position, k.name, c.name AS counter,
    avg(CASE WHEN c.name = 'fp16_flops' AND only_moves THEN 0 ELSE c.value END) AS value,
    avg(CASE WHEN c.name = 'fp16_flops' AND only_moves THEN c.value ELSE 0 END) AS moves
  FROM kernel_executions(counter_run_ids(batches), false) e JOIN counter_run r USING (run_id)
    JOIN (SELECT *, only_moves_fp16(name) AS only_moves FROM site_names(counter_run_ids(batches), 6)) k
      ON k.run_id = e.run_id AND k.site_id = e.site_id
    LEFT JOIN site_names(counter_run_ids(batches), 3) l ON l.run_id = e.run_id AND l.site_id = e.layer_site
    LEFT JOIN span_counter c ON c.run_id = e.run_id AND c.span_id = e.span_id
  GROUP BY ALL;

-- kernels() with the counters of each, and the ceiling of its arithmetic, which is that of the pipe that it uses most.
-- `counted` says why the counters are empty, if they are.
CREATE OR REPLACE TEMP MACRO kernel_facts(batches, wanted_source, most := NULL) AS TABLE
  WITH counted AS MATERIALIZED (FROM counted_kernels(batches)),
  total AS (
    SELECT batch, layer, occurrence, position, name, count(value) > 0 AS has_values,
      max_by(pipe, value) FILTER (value > 0) AS pipe,
      coalesce(max(value) FILTER (counter = 'flops') - max(moves),
               sum(value) FILTER (pipe <> 'int8_tensor')) AS flops,
      max(value) FILTER (counter = 'dram_read_bytes') AS dram_read_bytes,
      max(value) FILTER (counter = 'dram_write_bytes') AS dram_write_bytes,
      max(value) FILTER (counter = 'l2_read_bytes') AS l2_read_bytes,
      max(value) FILTER (counter = 'l2_write_bytes') AS l2_write_bytes,
      max(value) FILTER (counter = 'occupancy_pct') AS occupancy_pct,
      max(value) FILTER (counter = 'tensor_pipe_pct') AS tensor_pipe_pct,
      sum(value) FILTER (pipe LIKE '%tensor') AS tensor_flops
    FROM counted LEFT JOIN pipe_counter USING (counter) GROUP BY ALL),
  other AS (SELECT batch, layer, occurrence, position, min(name) AS name FROM counted GROUP BY ALL),
  ceiling AS MATERIALIZED (FROM ceilings(kernel_run_ids(batches), wanted_source)),
  named AS (
    SELECT k.*, coalesce(t.pipe, CASE WHEN t.has_values THEN 'fp32' END) AS pipe, t.occupancy_pct,
      t.tensor_pipe_pct, t.flops * per_inference AS flops,
      t.tensor_flops * per_inference AS tensor_flops,
      t.dram_read_bytes * per_inference AS dram_read_bytes, t.dram_write_bytes * per_inference AS dram_write_bytes,
      t.l2_read_bytes * per_inference AS l2_read_bytes, t.l2_write_bytes * per_inference AS l2_write_bytes,
      CASE WHEN t.has_values THEN NULL
           WHEN k.batch NOT IN (SELECT batch FROM counted) THEN 'not counted'
           WHEN t.name IS NOT NULL THEN 'the counter run has no values of it'
           WHEN o.name IS NULL THEN 'not in the counter run'
           ELSE concat('the counter run has ', o.name, ' here') END AS counted
    FROM kernels(batches, most := most) k
      LEFT JOIN total t ON t.batch = k.batch AND t.layer = coalesce(k.layer, '') AND t.occurrence = k.occurrence
        AND t.position = k.position AND t.name = k.name
      LEFT JOIN other o ON o.batch = k.batch AND o.layer = coalesce(k.layer, '') AND o.occurrence = k.occurrence
        AND o.position = k.position)
  SELECT named.*, dram_read_bytes + dram_write_bytes AS dram_bytes, l2_read_bytes + l2_write_bytes AS l2_bytes,
    coalesce(p.value, f.value) AS peak_flops, m.value AS peak_bytes, l2.value AS peak_l2_bytes,
    coalesce(p.name, f.name) AS peak_name, coalesce(p.source, f.source) AS peak_source
  FROM named
    LEFT JOIN ceiling p ON p.run_id = named.run_id AND p.name = peak_name_of(pipe)
    LEFT JOIN ceiling f ON f.run_id = named.run_id AND f.name = like_peak_name_of(pipe)
    LEFT JOIN ceiling m ON m.run_id = named.run_id AND m.name = 'memory_bytes_per_s'
    LEFT JOIN ceiling l2 ON l2.run_id = named.run_id AND l2.name = 'l2_bytes_per_s';

-- Returns what limits work the most. Each ceiling needs a share of its time at least: that of its arithmetic, of the L2
-- cache and of the memory. The largest tells: compute, l2 or memory. `latency`: none needs a tenth of the time, so the
-- work is held back by its start, or by the waiting of its instructions for one another. NULL: not known.
CREATE OR REPLACE TEMP MACRO limit_of(compute_pct, l2_pct, dram_pct) AS CASE
  WHEN compute_pct IS NULL OR dram_pct IS NULL THEN NULL
  WHEN greatest(compute_pct, l2_pct, dram_pct) < 10 THEN 'latency'
  WHEN compute_pct = greatest(compute_pct, l2_pct, dram_pct) THEN 'compute'
  WHEN dram_pct = greatest(compute_pct, l2_pct, dram_pct) THEN 'memory' ELSE 'l2' END;
-- Returns in words that a limit holds work back, and how near to its ceiling the work comes (NULL: not known). Work
-- that does not reach half of the nearest ceiling is not held back by it.
CREATE OR REPLACE TEMP MACRO held_text(what, worker, ceiling_pct) AS CASE
  WHEN ceiling_pct < 50 THEN concat(worker, ' run that come nearest to the ceiling of ', what, ', but reach only ',
    printf('%.0f', ceiling_pct), ' % of it: they are too small, or wait')
  ELSE concat(what, ' holds back the ', worker, ' that run',
    ': they reach ' || printf('%.0f', ceiling_pct) || ' % of its ceiling') END;
-- Returns it for a kernel, by its counters.
CREATE OR REPLACE TEMP MACRO kernel_limit(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes, ns) AS
  limit_of(pct(1e9 * CASE WHEN flops = 0 THEN 0 ELSE flops / peak_flops END, ns),
           pct(1e9 * l2_bytes / peak_l2_bytes, ns), pct(1e9 * dram_bytes / peak_bytes, ns));

-- These facts of the batch size that was asked for, against the ceilings that were asked for; and by about 200
-- inferences, against the measured ceilings.
CREATE OR REPLACE TEMP TABLE every_kernel_fact AS
  FROM kernel_facts([chosen_batch(6, asked_batch())], (SELECT peaks FROM asked_for));
CREATE OR REPLACE TEMP TABLE kernel_fact AS
  -- @if has_device_work() else (run_id INTEGER, batch INTEGER, ordinal INTEGER, layer_site INTEGER, layer VARCHAR,
  -- occurrence BIGINT, position BIGINT, site_id INTEGER, name VARCHAR, type VARCHAR, stream INTEGER, executions DOUBLE,
  -- per_inference DOUBLE, latency_ns DOUBLE, min_ns BIGINT, max_ns BIGINT, pipe VARCHAR, occupancy_pct DOUBLE,
  -- tensor_pipe_pct DOUBLE, flops DOUBLE, tensor_flops DOUBLE, dram_read_bytes DOUBLE, dram_write_bytes DOUBLE,
  -- l2_read_bytes DOUBLE, l2_write_bytes DOUBLE, counted VARCHAR, dram_bytes DOUBLE, l2_bytes DOUBLE,
  -- peak_flops DOUBLE, peak_bytes DOUBLE, peak_l2_bytes DOUBLE, peak_name VARCHAR, peak_source VARCHAR)
  FROM kernel_facts([chosen_batch(6, asked_batch())], 'measured', most := 200);

-- One row for each executed layer, with the time, flops and bytes of its own kernels. These belong to it and
-- not to a layer nested in it, because latency_ns also excludes nested layers. Kernels in no layer are in the row whose
-- name is empty. `kernels` is empty for a layer that is not in the kernel run.
CREATE OR REPLACE TEMP TABLE layer_kernel AS
  WITH own AS (
    SELECT layer AS name, min(ordinal) AS first, sum(per_inference) AS kernels, sum(latency_ns) AS kernel_ns,
      sum(flops) AS flops, sum(dram_read_bytes) AS dram_read_bytes, sum(dram_write_bytes) AS dram_write_bytes,
      sum(dram_bytes) AS dram_bytes, sum(l2_bytes) AS l2_bytes,
      weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct,
      first(pipe ORDER BY flops DESC, pipe DESC) FILTER (flops IS NOT NULL) AS pipe,
      mixed_peak(flops, peak_flops) AS peak_flops, max(peak_bytes) AS peak_bytes, max(peak_l2_bytes) AS peak_l2_bytes,
      sum(latency_ns) FILTER (counted IS NOT NULL) AS uncounted_ns, min(counted) AS uncounted_why
    FROM kernel_facts([chosen_batch(6, asked_batch())], (SELECT peaks FROM asked_for), most := 200) GROUP BY layer),
  seen AS (SELECT DISTINCT name FROM site_names([chosen_run(6, asked_batch())], 3)),
  layer AS (FROM layer_cost)
  SELECT chosen_batch(6, asked_batch()) AS batch, layer.ordinal, coalesce(layer.name, own.name) AS name, layer.type,
    layer.depth, layer.self_ns AS latency_ns, layer.time_of,
    coalesce(own.kernels, CASE WHEN seen.name IS NOT NULL THEN 0 END) AS kernels,
    coalesce(own.kernel_ns, CASE WHEN seen.name IS NOT NULL THEN 0 END) AS kernel_ns,
    own.* EXCLUDE (name, kernels, kernel_ns),
    layer.flops AS analytic_flops, layer.bytes AS analytic_bytes
  FROM own FULL JOIN layer ON layer.name = own.name LEFT JOIN seen ON seen.name = layer.name;

-- ---- The device over time -------------------------------------------------------------------------------

-- Returns typical inferences of the kernel run of one batch size, at most `how_many`, spread evenly. Analyses that
-- follow single moments do not need all inferences.
CREATE OR REPLACE TEMP MACRO some_inferences(wanted_batch, how_many) AS TABLE
  SELECT run_id, batch, process, iteration, start_ns, start_ns + duration_ns AS end_ns
  FROM measured_inference
  WHERE run_id = chosen_run(6, wanted_batch) AND is_typical
  QUALIFY (row_number() OVER (ORDER BY iteration, process) - 1) % greatest(1, ceil(count(*) OVER () / how_many)) = 0;
-- Returns the calls and executions in these inferences, cut to them. Each process has inferences of its own.
CREATE OR REPLACE TEMP MACRO activity(wanted_batch, how_many) AS TABLE
  SELECT i.process, s.iteration, s.level, s.name, s.type, s.device, s.stream, s.correlation_id, s.span_id, s.layer_id,
    greatest(s.start_ns, i.start_ns) AS start_ns, least(s.start_ns + s.duration_ns, i.end_ns) AS end_ns
  FROM span s JOIN some_inferences(wanted_batch, how_many) i
    ON i.run_id = s.run_id AND i.iteration = s.iteration AND i.process = coalesce(s.process, 0)
  WHERE s.level >= 5 AND s.start_ns < i.end_ns AND s.start_ns + s.duration_ns >= i.start_ns;

-- ---- Memory --------------------------------------------------------------------------------------------

-- Returns the allocations and releases in one inference of the kernel run, pool by pool, in their order; `number`
-- counts them. Those without a total, which came after a turn without the level api, are left out. Frameworks record
-- them only in the first few measured inferences (plugin.h, record_details). Without a wanted iteration, the first that
-- has any is used. Of several processes, it is the first one's.
CREATE OR REPLACE TEMP MACRO memory_events(wanted_batch, wanted_iteration) AS TABLE
  WITH wanted AS (
    SELECT run_id, chosen_batch(6, wanted_batch) AS batch, iteration, coalesce(process, 0) AS process FROM span
    WHERE run_id = chosen_run(6, wanted_batch) AND level = 5 AND type = 'memory'
      AND (iteration = wanted_iteration OR (wanted_iteration IS NULL AND iteration >= 0))
    ORDER BY iteration, coalesce(process, 0) LIMIT 1),
  source AS (
    SELECT w.run_id, w.batch, w.iteration, w.process, min(s.start_ns) AS start_ns FROM wanted w
      JOIN span s ON s.run_id = w.run_id AND s.iteration = w.iteration AND coalesce(s.process, 0) = w.process
    WHERE s.level = 2 AND s.depth = 0 GROUP BY ALL),
  event AS (
    SELECT s.run_id, s.span_id, s.start_ns - i.start_ns AS time_ns, s.name, i.batch, s.layer_id
    FROM span s JOIN source i
      ON i.run_id = s.run_id AND i.iteration = s.iteration AND i.process = coalesce(s.process, 0)
    WHERE s.level = 5 AND s.type = 'memory'),
  counted AS (
    SELECT e.run_id, e.span_id, max(value) FILTER (c.name = 'bytes') AS bytes,
      max(value) FILTER (c.name = 'allocated_bytes') AS allocated_bytes
    FROM event e JOIN span_counter c USING (run_id, span_id) GROUP BY e.run_id, e.span_id),
  pool AS (SELECT run_id, span_id, any_value(value) AS pool FROM attribute WHERE key = 'pool' GROUP BY ALL)
  SELECT e.batch, coalesce(pool, '') AS pool, e.time_ns, e.name AS event, l.name AS layer, bytes, allocated_bytes,
    row_number() OVER (PARTITION BY coalesce(pool, '') ORDER BY e.time_ns, e.span_id) AS number
  FROM event e JOIN counted USING (run_id, span_id) LEFT JOIN pool USING (run_id, span_id)
    LEFT JOIN span l ON l.run_id = e.run_id AND l.span_id = e.layer_id
  WHERE allocated_bytes IS NOT NULL;
