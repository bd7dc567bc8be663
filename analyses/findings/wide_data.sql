-- @title Wide data
-- @rule The memory, or the L2 cache, limits layers whose data have 32 bits.
-- @needs layer
WITH memory_bound AS (
  SELECT sum(ns) AS ns, coalesce(sum(ns) FILTER (bound IN ('memory', 'l2')), 0) AS certain_ns,
    max_by(evidence, ns) AS evidence, bool_or(bound = 'l2') AS has_l2
  FROM finding_part WHERE is_known AND precision = 'fp32' AND (bound LIKE 'memory%' OR bound = 'l2')),
named AS (
  SELECT *, CASE WHEN has_l2 THEN 'the memory or the L2 cache bounds' ELSE 'memory bounds' END AS what_bounds,
    CASE WHEN has_l2 THEN 'hierarchical_roofline' ELSE evidence END AS shown_in,
    CASE WHEN has_l2 THEN 'kernels' ELSE 'layers' END AS shown
  FROM memory_bound)
SELECT printf('Layers of 32-bit data that %s take %s%s of the %s.', what_bounds,
    CASE WHEN certain_ns = 0 THEN 'up to ' ELSE '' END,
    allowed_text(coalesce(nullif(certain_ns, 0), ns), ns, whole_ns()), unit_name()) AS finding, 'layer' AS level,
  share_in_step(0.5 * ns) AS gain_ns,
  'Halve the bytes: fp16 or bf16, or 8 bits; fuse layers, so that data stay in the caches.' AS advice,
  shown_in AS evidence,
  concat('Compare the bytes and the times of the ', shown, ' that ', what_bounds, ' in ', shown_in,
    ', before and after.') AS check, 'fp32' AS culprit, NULL AS layer
FROM named
