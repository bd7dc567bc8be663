-- @title Wide data
-- @rule The memory limits layers whose data have 32 bits.
-- @needs layer
WITH memory_bound AS (
  SELECT sum(ns) FILTER (bound LIKE 'memory%' AND precision = 'fp32') AS ns,
    coalesce(sum(ns) FILTER (bound = 'memory' AND precision = 'fp32'), 0) AS certain_ns,
    max_by(evidence, ns) AS evidence
  FROM finding_part WHERE is_known)
SELECT printf('Layers of 32-bit data that memory bounds take %s%s of the %s.',
    CASE WHEN certain_ns = 0 THEN 'up to ' ELSE '' END,
    allowed_text(coalesce(nullif(certain_ns, 0), ns), ns, whole_ns()), unit_name()) AS finding, 'layer' AS level,
  share_in_step(0.5 * ns) AS gain_ns,
  'Halve the bytes: fp16 or bf16, or 8 bits; fuse layers, so that data stay in the caches.' AS advice, evidence,
  concat('Compare the bytes and the times of the layers that memory bounds in ', evidence, ', before and after.')
    AS check, 'fp32' AS culprit, NULL AS layer
FROM memory_bound
