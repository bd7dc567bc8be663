-- @title Bound by the L2 cache
-- @rule Kernels move more data through the L2 cache than arithmetic and memory would take time for.
-- @needs kernel
-- The kernels, their times and their nearness to the ceiling are those that the analysis bottleneck calls l2-bound.
WITH kernel AS (
  SELECT kernel_label(name) AS label, latency_ns AS ns, own_ns,
    allowed_ns(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes) AS allowed_ns,
    least_ns(flops, dram_bytes, peak_flops, peak_bytes) AS least_ns
  FROM finding_kernel
  WHERE counted IS NULL AND NOT starts_with(lower(name), 'nccl') AND latency_ns > 0
    AND kernel_limit(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes, own_ns) = 'l2'),
by_label AS (SELECT label, sum(ns) AS ns FROM kernel GROUP BY label),
most AS (SELECT label AS name, ns AS label_ns FROM by_label ORDER BY ns DESC, label LIMIT 1),
-- Data that never leave the multiprocessors cross no cache: what arithmetic and memory take is left.
total AS (
  SELECT sum(ns) AS ns, pct(sum(ns * allowed_ns / own_ns), sum(ns)) AS ceiling_pct,
    sum(ns * greatest(0, 1 - least_ns / own_ns)) AS gain_ns
  FROM kernel HAVING count(*) > 0)
SELECT concat('For ', whole_share(ns), ' ', held_text('the L2 cache', 'kernels', ceiling_pct),
    printf('; %.0f %% of that is %s.', pct(label_ns, ns), name)) AS finding, 'kernel' AS level,
  share_in_step(gain_ns) AS gain_ns,
  concat(CASE WHEN ceiling_pct < 50 THEN 'Give each kernel more to do at once (more inputs), and fuse'
              ELSE 'Fuse' END, ' kernels that hand data to each other, use tiles that stay in registers and shared ',
    'memory, so that each value crosses the cache once, and store values in fewer bits.') AS advice,
  'hierarchical_roofline' AS evidence,
  concat('The bytes of the L2 cache of ', name, ' in hierarchical_roofline must fall, and its time with them.')
    AS check, name AS culprit, NULL AS layer
FROM total, most, finding_usable WHERE kernels_hold
