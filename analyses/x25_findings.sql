-- @id x25
-- @name findings
-- @title Findings
-- @question What costs the most, and about how much time could a remedy save?
-- Each rule is a file of analyses/findings, and computes a bound of its gain. The bound is the time that an inference,
-- or a step of a program that was watched (see time_of_step), would save if the cause disappeared and nothing else
-- changed. A remedy may make other parts faster, too, so the bound is told as "about" (docs/planted.md has measured
-- gains). Bounds overlap and must not be added up. Faster kernels gain little while the device waits for the host, and
-- the advice says so. A bound on the time of an input (a larger batch) is marked as such. On a GPU whose kernels were
-- counted, the least time follows from the counters, or else from the layers' shapes. If the ceilings that apply lie
-- between two (see layer_roofline), the share lies between two as well, and the bound uses the highest. Findings below
-- 1 % are left out. The list begins with the reasons to doubt the measurement. It ends with the rules that could not be
-- asked, and the reasons.
-- @needs steps,part
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param rule text - The only rule to ask; by default all rules.
-- @view table caption=batch columns=rank,finding,gain_pct,gain_ns,advice,evidence bar=gain_pct top=20
-- @column batch count Inputs per inference.
-- @column rank count Rank by gain, from 1; the bound of a general rule, which is seldom reached, counts as 80 % of it.
-- @column finding text The finding, with its numbers.
-- @column level text The level of the finding; empty: the measurement itself.
-- @column gain_pct pct Upper bound of the gain as a share of the inference or step; empty: no bound is known.
-- @column gain_ns ns Upper bound of the gain, as a time.
-- @column advice text The advice on this finding.
-- @column evidence text The analysis to look at.
-- @column layer text The layer of the finding, if there is one.
-- @column rule text The rule; `doubt`: the measurement is in doubt; `unasked`: something was not measured.
-- @column culprit text The cause: a layer, a type of layer, a kernel, a call, a function; empty: no name.
-- @column check text A way to check the finding.
WITH doubt AS (
  SELECT concat(count(*), ' of ', (SELECT count(*) FROM run), ' runs did not end well') AS what,
    'The audit says which runs, and why.' AS remedy
  FROM run
  WHERE status <> 'ok' HAVING count(*) > 0
  UNION ALL
  SELECT CASE kind WHEN 'unsettled' THEN concat('level ', string_agg(level_name(level), ', ' ORDER BY level), ': ',
      doubt) ELSE doubt END,
    CASE WHEN kind = 'unsettled' AND contains(doubt, 'the number of inferences') THEN 'Measure more (--iterations).'
      WHEN kind = 'unsettled' THEN 'Measure longer (--max-time).' ELSE CASE kind
      WHEN 'disturbed' THEN 'Measure again while no other program runs.'
      WHEN 'distorted' THEN concat('Trust the order of what it recorded, and the durations of kernels; ',
        'the times between them are too long.')
      ELSE 'Record that level in a run of its own (--levels).' END END
  FROM level_doubt WHERE batch = (SELECT batch FROM finding_batch) GROUP BY kind, doubt
  UNION ALL
  SELECT concat(sum(count), ' records were lost'), 'Record fewer levels, or a part of the program.'
  FROM loss WHERE source <> 'stacks' AND cause NOT LIKE 'kernels of a CUDA graph%' HAVING sum(count) > 0
  UNION ALL
  SELECT concat(sum(count), ' launches of CUDA graphs were not counted'), 'Profile without graphs for their counters.'
  FROM loss WHERE cause LIKE 'kernels of a CUDA graph%' HAVING sum(count) > 0
  UNION ALL
  SELECT concat(sum(value), CASE name WHEN 'open_spans' THEN ' spans never ended'
    WHEN 'executions_unmatched' THEN ' executions have no launch' ELSE ' spans overlap without nesting' END),
    CASE name WHEN 'open_spans' THEN 'Measure again, and let the program end by itself.'
      ELSE 'The audit counts them.' END
  FROM audit_fact WHERE name IN ('open_spans', 'executions_unmatched', 'overlapping') GROUP BY name
  HAVING sum(value) > 0
  UNION ALL
  SELECT concat(count(*), CASE count(*) WHEN 1 THEN ' trace is' ELSE ' traces are' END, ' cut short'),
    'Measure again, and let the program end by itself.'
  FROM audit_fact WHERE name = 'trace_complete' AND value = 0
  HAVING count(*) > 0),
unasked AS (
  SELECT unnest([why_no_level('layer'), coalesce(why_no_level('kernel'), why_no_counters()), why_no_peak(),
    CASE WHEN (SELECT count(*) FROM model_latency) = 1 THEN 'other batch sizes: profile with --batch 1,2,4' END])
    AS why
  WHERE NOT is_watched()
  UNION ALL
  -- Times in doubt are not used (finding_usable), so the rules that need them find nothing.
  SELECT unnest([CASE WHEN NOT model_holds THEN 'the times of the model are in doubt' END,
    CASE WHEN NOT is_gpu AND NOT layers_hold THEN 'the times of the layers are in doubt' END,
    CASE WHEN is_gpu AND NOT kernels_hold THEN 'the times of the kernels are in doubt' END,
    CASE WHEN is_gpu AND NOT timeline_holds THEN 'the times between the kernels are in doubt' END]) AS why
  FROM finding_usable LEFT JOIN finding_place ON true WHERE NOT is_watched()
  UNION ALL
  -- For a watched program, the list has only the needs that watching can meet.
  SELECT unnest([why_no_level('layer'), why_no_samples(),
    CASE WHEN why_no_level('kernel') NOT LIKE '%no process of the command used CUDA%' THEN why_no_level('kernel') END])
    AS why
  WHERE is_watched()),
-- Rules that compare layers with the roof, and the rule that knows only a line, are left out if a rule that knows the
-- cause already covers the same work.
told AS (
  SELECT f.* REPLACE (CASE WHEN rule IN ('type_below_roof', 'layer_below_roof', 'wide_data', 'low_occupancy',
      'l2_bound', 'idle_tensor_cores', 'unaligned_sizes', 'double_precision', 'memory_chains')
    THEN concat(advice, while_host_text()) ELSE advice END AS advice)
  FROM found f
  WHERE NOT (is_watched() AND rule IN ('type_below_roof', 'layer_below_roof', 'wide_data', 'low_occupancy', 'l2_bound')
    AND EXISTS (
      FROM found o
      WHERE o.gain_ns >= 0.25 * f.gain_ns
        AND o.rule IN ('idle_tensor_cores', 'unaligned_sizes', 'layout_changes', 'memory_chains', 'gather_bound',
                       'written_out_attention', 'unfused_optimizer', 'growing_cache')))
    AND NOT (rule = 'outside_the_model' AND EXISTS (
      FROM found o
      WHERE o.gain_ns >= 0.7 * f.gain_ns
        AND o.rule IN ('host_code', 'repeated_copies', 'layout_changes', 'gather_bound', 'growing_cache',
                       'input_output', 'input_pipeline', 'recompilation', 'garbage_collection', 'locks', 'sleeping',
                       'threads')))),
line AS (
  SELECT 0 AS section, 'doubt' AS rule,
    concat('The measurement is in doubt: ', string_agg(what, '; ' ORDER BY what), '.') AS finding, '' AS level,
    NULL::DOUBLE AS gain_ns, (SELECT string_agg(DISTINCT remedy, ' ' ORDER BY remedy) FROM doubt) AS advice,
    'audit' AS evidence, NULL AS layer, NULL AS culprit, 'The audit must say of every check that it holds.' AS "check"
  FROM (SELECT DISTINCT what FROM doubt) HAVING count(*) > 0
  UNION ALL
  SELECT 1, rule, finding, level, gain_ns, advice, evidence, layer, culprit, "check" FROM told
  UNION ALL
  SELECT 2, 'unasked', concat('Some rules could not be asked: ', string_agg(why, '; ' ORDER BY why), '.'), '', NULL,
    'Measure what is missing, where this machine can.', 'audit', NULL, NULL, 'xsp doctor says what can be measured.'
  FROM unasked WHERE why IS NOT NULL HAVING count(*) > 0)
-- The cost of the first steps is not part of a steady step, so it comes after the causes of a step's time. A rule about
-- a kind of work in general has a bound that is seldom reached. So it comes after a rule that names a cause of nearly
-- the same size.
SELECT inputs_of((SELECT batch FROM finding_batch)) AS batch,
  row_number() OVER (ORDER BY section, rule = 'warmup_measured',
    bound_ns * CASE WHEN rule IN ('launch_bound', 'host_code', 'outside_the_model') THEN 0.8 ELSE 1 END DESC,
    finding) AS rank, finding, level,
  pct(bound_ns, step_ns) AS gain_pct, bound_ns AS gain_ns, advice, evidence, layer, rule, culprit, "check"
FROM (SELECT *, CASE WHEN gain_ns IS NOT NULL THEN least(gain_ns, step_ns) END AS bound_ns FROM line, finding_step)
WHERE (section <> 1 OR bound_ns >= 0.01 * step_ns
    OR (bound_ns IS NULL AND evidence IN ('device_state', 'model_information')))
  AND rule = coalesce($rule, rule)
ORDER BY rank
