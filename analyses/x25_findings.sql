-- @id x25
-- @name findings
-- @title Findings
-- @question What costs the most, and how much could acting on it gain at most?
-- Rules, each with an upper bound of its own: what an inference would gain if the cause were gone altogether and
-- nothing else took its place. Bounds overlap and do not add up; kernels that become faster gain nothing while the host
-- is what is waited for. A bound on the time of an input (a larger batch) is said to be one. Rules: the GPU has no
-- kernel, by cause (gpu_idle); matrix products off the tensor cores; the type of layer with the most time, and the
-- layer that is farthest above what the ceilings allow; elementwise layers that could be fused into others; 32-bit data
-- where memory bounds; kernels that fill few of the multiprocessors; another batch size; inferences that vary; clocks
-- held down; time between layers; layers that the host takes longer for than the device. On a GPU whose kernels were
-- counted the least time follows from the counters, else from the layers' shapes; where the ceilings that apply lie
-- between two (see layer_roofline) so does the share, and the bound is that of the highest. Findings below 1 % of the
-- latency are left out. First comes what puts the measurement in doubt, last what could not be asked, and why.
-- @needs model
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view table caption=batch columns=rank,finding,gain_pct,gain_ns,advice,evidence bar=gain_pct top=20
-- @column batch count Inputs per inference.
-- @column rank count From 1, by what it could gain.
-- @column finding text What was found, with its numbers.
-- @column level text The level that it is about; empty: the measurement itself.
-- @column gain_pct pct At most this share of the model's latency; empty: no bound is known.
-- @column gain_ns ns The same as a time.
-- @column advice text What may be done about it.
-- @column evidence text The analysis to look at.
-- @column layer text The layer that it is about, where it is one.
WITH wanted AS (SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch),
every AS MATERIALIZED (SELECT batch, run_id, sorted, inferences AS n, latency_ns FROM model_latency),
model AS MATERIALIZED (FROM every WHERE batch = (SELECT batch FROM wanted)),
layer AS MATERIALIZED (
  SELECT c.*, operator_of(type) AS operator, arithmetic AS precision
  FROM layer_roofs((SELECT batch FROM wanted)) c),
fact AS MATERIALIZED (FROM kernel_facts([(SELECT batch FROM wanted)], 'measured')),
cause AS MATERIALIZED (FROM device_causes((SELECT batch FROM wanted), 200) WHERE EXISTS (FROM fact)),
-- Nothing is concluded from times that measuring distorted or something else disturbed. The durations of kernels are
-- by the device's own clock, which recording does not slow.
bad AS (
  SELECT level, kind FROM level_doubt
  WHERE kind IN ('distorted', 'disturbed') AND batch = (SELECT batch FROM wanted)),
usable AS MATERIALIZED (
  SELECT NOT EXISTS (FROM bad WHERE level = 2) AS model_holds, NOT EXISTS (FROM bad WHERE level = 3) AS layers_hold,
    NOT EXISTS (FROM bad WHERE level = 6) AS timeline_holds,
    NOT EXISTS (FROM bad WHERE level = 6 AND kind = 'disturbed') AS kernels_hold),
idle AS (
  SELECT greatest(0, latency_ns - duration_ns) AS idle_ns FROM model, cause WHERE cause = 'busy'),
place AS (
  SELECT run_id, device, threads, device LIKE 'cuda%' AS is_gpu FROM measured_run
  WHERE run_id = chosen_layer_run((SELECT batch FROM wanted))),
ceiling AS MATERIALIZED (FROM pipe_ceilings([chosen_layer_run((SELECT batch FROM wanted))])),
-- How long each layer takes where it runs: its kernels on a GPU, else its own time.
cost AS MATERIALIZED (
  SELECT l.*, CASE WHEN l.flops_in = 'outer' THEN NULL WHEN is_gpu THEN kernel_ns ELSE cost_ns END AS ns,
    counted_flops, counted_bytes, is_counted
  FROM layer l LEFT JOIN (
    SELECT coalesce(cost_layer, layer) AS name, sum(fact.flops) AS counted_flops, sum(dram_bytes) AS counted_bytes,
      bool_and(counted IS NULL) AS is_counted
    FROM fact LEFT JOIN layer outer_layer ON outer_layer.name = fact.layer
    WHERE layer IS NOT NULL GROUP BY 1) USING (name)),
-- The least time in which the ceilings allow it, at the highest that may apply and at the lowest: of each kernel of a
-- layer whose kernels were all counted, else of the layer by its shapes. Kernels that only serve those which multiply
-- matrices (changes of layout, sums of parts) need not be: another layout or algorithm goes without them.
part AS MATERIALIZED (
  SELECT f.layer, c.type, c.precision, f.latency_ns AS ns,
    CASE WHEN work = 0 AND max(work) OVER (PARTITION BY f.layer) = 2 THEN 0
         ELSE least_ns(f.flops, dram_bytes, f.peak_flops, f.peak_bytes) END AS least_ns, least_ns AS high_least_ns,
    coalesce(max_by(bound_by(f.flops, dram_bytes, f.peak_flops, f.peak_bytes), f.latency_ns) FILTER (work = 2)
      OVER (PARTITION BY f.layer), bound_by(f.flops, dram_bytes, f.peak_flops, f.peak_bytes)) AS bound,
    'layer_counted_roofline' AS evidence
  FROM (SELECT *, kernel_work(name, pipe) AS work FROM fact) f JOIN cost c ON c.name = f.layer WHERE is_counted
  UNION ALL
  SELECT name, type, precision, ns, least_ns(flops, bytes, peak_flops, peak_high_bytes),
    high_least_ns(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes, ns),
    bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes), 'layer_roofline'
  FROM cost WHERE ns > 0 AND is_counted IS NOT true),
known AS MATERIALIZED (
  SELECT part.* FROM part, place, usable
  WHERE least_ns IS NOT NULL AND CASE WHEN is_gpu THEN usable.kernels_hold ELSE usable.layers_hold END),
by_type AS (
  SELECT type, count(DISTINCT layer) AS layers, sum(ns) AS ns, allowed_text(sum(least_ns), sum(high_least_ns), sum(ns))
      AS allowed, sum(greatest(0, ns - least_ns)) AS gain_ns, max_by(evidence, ns) AS evidence
  FROM known GROUP BY type ORDER BY sum(ns) DESC, type LIMIT 1),
by_layer AS (
  SELECT layer, any_value(type) AS type, sum(ns) AS ns, allowed_text(sum(least_ns), sum(high_least_ns), sum(ns))
      AS allowed, sum(greatest(0, ns - least_ns)) AS gain_ns, max_by(evidence, ns) AS evidence
  FROM known GROUP BY layer ORDER BY sum(greatest(0, ns - least_ns)) DESC, layer LIMIT 1),
-- Only where the pipes are known on which it runs: the fastest that it may have used is no tensor core.
missed AS (
  SELECT count(*) AS layers, sum(ns) AS ns, any_value(precision) AS precision,
    sum(ns - least(ns, CASE WHEN is_counted THEN least_ns(counted_flops, counted_bytes, t.value, peak_bytes)
                            ELSE least_ns(flops, bytes, t.value, peak_high_bytes) END)) AS gain_ns
  FROM cost JOIN ceiling t ON t.pipe = CASE precision WHEN 'fp32' THEN 'tf32_tensor' ELSE precision || '_tensor' END
  WHERE is_gpu AND ns > 0 AND cost.pipe NOT LIKE '%tensor' AND precision <> 'fp64' AND is_matrix
    AND coalesce(counted_flops, flops) > 0),
elementwise AS (
  SELECT count(*) AS layers, sum(ns) AS ns,
    -- The commonest type; of several, the first by name (mode() takes any).
    list_sort(list_transform(map_entries(histogram(type)), lambda one: {'less': -one.value, 'type': one.key}))[1].type
      AS most
  FROM cost JOIN operator_cost USING (operator)
  WHERE ns > 0 AND (rule = 'output' OR regexp_matches(lower(operator), '^(relu6?|clip|hardtanh|clamp)_?$'))
    AND NOT regexp_matches(lower(operator), 'softmax|layer_?norm|instance|group|skip|rms|simplified|rotary|cumsum')),
memory_bound AS (
  SELECT sum(ns) FILTER (bound LIKE 'memory%' AND precision = 'fp32') AS ns, sum(ns) AS all_ns,
    coalesce(sum(ns) FILTER (bound = 'memory' AND precision = 'fp32'), 0) AS certain_ns,
    max_by(evidence, ns) AS evidence FROM known),
geometry AS (
  SELECT site_id, max(value) AS limiter FROM site_attribute
  WHERE run_id = chosen_run(6, (SELECT batch FROM wanted)) AND key = 'occupancy_limiter' GROUP BY site_id),
grid AS (
  SELECT site_id, max(value) AS waves FROM site_counter
  WHERE run_id = chosen_run(6, (SELECT batch FROM wanted)) AND name = 'waves' GROUP BY site_id),
empty_kernel AS (
  SELECT kernel_label(name) AS label, CASE WHEN len(label) > 60 THEN label[:59] || '…' ELSE label END AS name,
    sum(latency_ns) AS ns, weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct,
    max_by(limiter, latency_ns) AS limiter, weighted_mean(waves, latency_ns) AS waves,
    sum(greatest(0, latency_ns - least_ns(flops, dram_bytes, peak_flops, peak_bytes))) AS gain_ns
  FROM fact LEFT JOIN geometry USING (site_id) LEFT JOIN grid USING (site_id)
  WHERE counted IS NULL GROUP BY kernel_label(name) HAVING weighted_mean(occupancy_pct, latency_ns) < 30
  ORDER BY gain_ns DESC, name LIMIT 1),
best_batch AS (
  SELECT e.batch, e.latency_ns / e.batch AS input_ns, m.latency_ns / m.batch AS now_ns, m.latency_ns
  FROM every e, model m ORDER BY e.latency_ns / e.batch LIMIT 1),
clock AS (
  SELECT avg(gpu_sm_clock_mhz) AS mhz, coalesce(any_value(set_mhz), any_value(most_mhz),
      -- What it reached when nothing held it down.
      (SELECT max(gpu_sm_clock_mhz) FROM block WHERE gpu_throttle_reasons = '')) AS max_mhz,
    pct(count(*) FILTER (gpu_throttle_reasons <> ''), count(*)) AS held_pct,
    string_agg(DISTINCT gpu_throttle_reasons, ', ') FILTER (gpu_throttle_reasons <> '') AS reasons
  FROM block CROSS JOIN (
    SELECT max(try_cast(e.value AS DOUBLE)) FILTER (e.key LIKE '%.application_sm_clock_mhz') AS set_mhz,
      max(try_cast(e.value AS DOUBLE)) FILTER (e.key LIKE '%.max_sm_clock_mhz') AS most_mhz
    FROM evaluation e, run r
    WHERE r.run_id = (SELECT run_id FROM model) AND starts_with(e.key, concat('gpu.', device_number(r.device), '.')))
  WHERE run_id = (SELECT run_id FROM model) AND gpu_throttle_reasons IS NOT NULL),
between AS (
  SELECT latency_ns - (SELECT sum(self_ns) FROM layer) AS ns
  FROM run_latency, place, usable
  WHERE run_latency.run_id = place.run_id AND usable.layers_hold AND NOT is_gpu AND NOT EXISTS (FROM fact)),
on_host AS (
  SELECT count(*) FILTER (cost_ns > 2 * kernel_ns) AS layers, count(*) AS all_layers,
    sum(cost_ns - kernel_ns) FILTER (cost_ns > 2 * kernel_ns) AS ns
  FROM cost WHERE kernel_ns > 0 AND time_of = 'host'),
doubt AS (
  SELECT concat(count(*), ' of ', (SELECT count(*) FROM run), ' runs did not end well') AS what FROM run
  WHERE status <> 'ok' HAVING count(*) > 0
  UNION ALL
  SELECT CASE kind WHEN 'unsettled' THEN concat('level ', string_agg(level_name(level), ', ' ORDER BY level), ': ',
      doubt) ELSE doubt END
  FROM level_doubt WHERE batch = (SELECT batch FROM wanted) GROUP BY kind, doubt
  UNION ALL
  SELECT concat(sum(count), ' records were lost') FROM loss HAVING sum(count) > 0
  UNION ALL
  SELECT concat(sum(value), CASE name WHEN 'open_spans' THEN ' spans never ended'
    WHEN 'executions_unmatched' THEN ' executions have no launch' ELSE ' spans overlap without nesting' END)
  FROM audit_fact WHERE name IN ('open_spans', 'executions_unmatched', 'overlapping') GROUP BY name
  HAVING sum(value) > 0
  UNION ALL
  SELECT concat(count(*), ' traces are cut short') FROM audit_fact WHERE name = 'trace_complete' AND value = 0
  HAVING count(*) > 0),
unasked AS (
  SELECT unnest([why_no_level('layer'), coalesce(why_no_level('kernel'), why_no_counters()), why_no_peak(),
    CASE WHEN (SELECT count(*) FROM every) = 1 THEN 'other batch sizes: profile with --batch 1,2,4' END]) AS why),
line AS (
  SELECT 0 AS section, concat('The measurement is in doubt: ', string_agg(what, '; ' ORDER BY what)) AS finding,
    '' AS level, NULL::DOUBLE AS gain_ns, 'See which run it concerns, and measure again.' AS advice,
    'audit' AS evidence, NULL AS layer
  FROM (SELECT DISTINCT what FROM doubt) HAVING count(*) > 0
  UNION ALL
  SELECT 1, concat('The GPU has no kernel for ', time_text(idle_ns), ' of ', time_text(latency_ns), '; for up to ',
      time_text(least(duration_ns, idle_ns)), ' of that ', CASE cause
        WHEN 'launch' THEN 'the host launches the next one'
        WHEN 'host' THEN 'the host runs code of its own' WHEN 'synchronization' THEN 'the host waits for the device'
        WHEN 'copies' THEN 'data are copied' WHEN 'allocation' THEN 'memory is allocated'
        ELSE 'the next one waits on the device though it was launched' END, '.'), 'kernel', least(duration_ns, idle_ns),
    CASE cause
      WHEN 'launch' THEN 'Replay the inference as a CUDA graph, fuse small kernels, or infer more inputs at once.'
      WHEN 'host' THEN 'Take the framework out of the inner loop: a CUDA graph, a compiled model, more inputs at once.'
      WHEN 'synchronization' THEN 'Wait once, when the results are needed.'
      WHEN 'copies' THEN 'Copy from pinned memory on a stream of its own, beside the kernels.'
      WHEN 'allocation' THEN 'Reuse memory: allocate before the inference.'
      ELSE 'Fuse small kernels; run what does not depend on one another on several streams.' END,
    CASE cause WHEN 'copies' THEN 'copy_overlap' WHEN 'launch' THEN 'launch_delay' ELSE 'gpu_idle' END, NULL
  FROM cause, idle, model, usable WHERE cause NOT IN ('busy', 'profiler') AND usable.timeline_holds
  UNION ALL
  SELECT 1, concat(layers, CASE layers WHEN 1 THEN ' layer multiplies' ELSE ' layers multiply' END,
      ' matrices without the tensor cores, for ', time_text(ns), '.'), 'kernel', gain_ns,
    CASE precision WHEN 'fp32' THEN 'Allow TF32, or use fp16 or bf16, where their accuracy is enough.'
      ELSE 'See which shapes and layouts its kernels need for tensor cores (multiples of 8).' END,
    'tensor_core_use', NULL
  FROM missed, usable WHERE missed.layers > 0 AND usable.kernels_hold
  UNION ALL
  SELECT 1, printf('%s takes %.1f %% of the layers'' time (%d %s) and runs at %s of what the ceilings allow.',
      type, pct(ns, (SELECT sum(ns) FROM part)), layers, CASE layers WHEN 1 THEN 'layer' ELSE 'layers' END,
      allowed), 'layer', gain_ns,
    'Look at those farthest from the roof: another algorithm, layout or library.', evidence, NULL
  FROM by_type
  UNION ALL
  SELECT 1, printf('%s (%s) takes %s and runs at %s of what the ceilings allow.', layer, type, time_text(ns),
      allowed), 'layer', gain_ns, 'Look at this layer first: its shape, its layout, its kernels.', evidence,
    layer
  FROM by_layer WHERE NOT EXISTS (FROM by_type WHERE by_type.type = by_layer.type AND layers = 1)
  UNION ALL
  SELECT 1, concat(layers, CASE layers WHEN 1 THEN ' elementwise layer' ELSE ' elementwise layers' END, ' (mostly ',
      most, ') take', CASE layers WHEN 1 THEN 's ' ELSE ' ' END, time_text(ns), ' to read and write memory.'), 'layer',
    ns, 'Let a compiler fuse them into the layers before them; fold batch normalisation into the weights.',
    'latency_by_layer_type', NULL
  FROM elementwise, place, usable
  WHERE elementwise.layers > 0 AND CASE WHEN is_gpu THEN usable.kernels_hold ELSE usable.layers_hold END
  UNION ALL
  SELECT 1, printf('Memory bounds %s%s of the layers'' time, in 32-bit data.',
      CASE WHEN certain_ns = 0 THEN 'up to ' ELSE '' END,
      allowed_text(coalesce(nullif(certain_ns, 0), ns), ns, all_ns)), 'layer', 0.5 * ns,
    'Halve the bytes: fp16 or bf16, or 8 bits; fuse layers, so that data stay in the caches.', evidence, NULL
  FROM memory_bound
  UNION ALL
  SELECT 1, printf('%s fills %.0f %% of the multiprocessors'' warps, for %s; %s.', name, occupancy_pct, time_text(ns),
      CASE WHEN waves < 1 THEN printf('its grid fills the device %.2f times', waves)
           WHEN limiter IS NULL THEN 'what limits it is not known'
           ELSE concat(replace(limiter, '_', ' '), ' limit it') END), 'kernel', gain_ns,
    CASE WHEN waves < 1 THEN 'Give the device more at once: more inputs, or kernels on several streams.'
         WHEN limiter IN ('registers', 'shared_memory') THEN 'Smaller tiles, or a library that chooses them by shape.'
         ELSE 'Larger blocks, or more inputs at once.' END, 'occupancy', NULL
  FROM empty_kernel, usable WHERE usable.kernels_hold
  UNION ALL
  SELECT 1, printf('At batch %d an input takes %s instead of %s: %.2f times the throughput.', batch,
      time_text(input_ns), time_text(now_ns), now_ns / input_ns), 'model', latency_ns * (1 - input_ns / now_ns),
    'Infer more inputs at once, where the latency of the batch is acceptable; the bound is on the time of an input.',
    'model_information', NULL
  FROM best_batch, usable WHERE usable.model_holds
  UNION ALL
  SELECT 1, printf('One inference in a hundred takes %.2f times the median or longer.',
      quantile_of(sorted, 0.99) / quantile_of(sorted, 0.5)), 'model',
    greatest(0, list_avg(sorted) - latency_ns),
    'Look for other load on the machine, changing clocks, memory that is allocated anew.', 'model_information', NULL
  FROM model, usable
  WHERE usable.model_holds AND n >= 20 AND quantile_of(sorted, 0.99) > 1.2 * quantile_of(sorted, 0.5)
  UNION ALL
  SELECT 1, concat(printf('The GPU''s clock was held down in %.0f %% of the measurement (%s): %.0f MHz', held_pct,
      reasons, mhz), coalesce(printf(' of %.0f.', max_mhz), '; the clock that it may have is not known.')),
    '', latency_ns * (1 - mhz / max_mhz),
    'Cool it, raise its power limit, or lock its clocks for measuring.', 'device_state', NULL
  FROM clock, model WHERE held_pct > 0
  UNION ALL
  SELECT 1, concat(time_text(ns), ' of an inference lie between its layers, in the runtime itself.'), 'layer', ns,
    'Fewer, larger layers: fused nodes, more inputs at once; see what the runtime waits for.', 'model_summary', NULL
  FROM between
  UNION ALL
  SELECT 1, concat(layers, ' of ', all_layers, ' layers take the host more than twice as long as their kernels take.'),
    'layer', least(ns, idle_ns), 'A CUDA graph or a compiled model leaves out the host; fuse the smallest layers.',
    'gpu_by_layer', NULL
  FROM on_host, idle, usable WHERE on_host.layers > 0 AND usable.layers_hold
  UNION ALL
  SELECT 2, concat('Some rules could not be asked: ', string_agg(why, '; ' ORDER BY why), '.'), '', NULL,
    'Measure what is missing, where this machine can.', 'audit', NULL
  FROM unasked WHERE why IS NOT NULL HAVING count(*) > 0)
SELECT batch, row_number() OVER (ORDER BY section, bound_ns DESC, finding) AS rank, finding, level,
  pct(bound_ns, latency_ns) AS gain_pct, bound_ns AS gain_ns, advice, evidence, layer
FROM (SELECT *, CASE WHEN gain_ns IS NOT NULL THEN least(gain_ns, latency_ns) END AS bound_ns FROM line, model)
WHERE section <> 1 OR bound_ns >= 0.01 * latency_ns OR (evidence = 'device_state' AND bound_ns IS NULL)
ORDER BY rank
