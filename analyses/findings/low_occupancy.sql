-- @title Low occupancy
-- @rule A kernel fills few of the multiprocessors' warps.
-- @needs kernel
WITH geometry AS (
  SELECT site_id, max(value) AS limiter FROM site_attribute
  WHERE run_id = chosen_run(6, (SELECT batch FROM finding_batch)) AND key = 'occupancy_limiter' GROUP BY site_id),
grid AS (
  SELECT site_id, max(value) FILTER (name = 'waves') AS waves,
    max(value) FILTER (name = 'theoretical_occupancy_pct') AS most_pct
  FROM site_counter WHERE run_id = chosen_run(6, (SELECT batch FROM finding_batch)) GROUP BY site_id),
empty_kernel AS (
  SELECT kernel_label(name) AS label, sum(latency_ns) AS ns, weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct,
    max_by(limiter, latency_ns) AS limiter, weighted_mean(waves, latency_ns) AS waves,
    weighted_mean(most_pct, latency_ns) AS most_pct,
    range_text(min(waves), max(waves)) AS all_waves,
    -- With all warps, the kernel is faster by their number at most. No ceiling lets it be faster. A kernel that shares
    -- its time with others has the share of its ceilings that its own duration tells.
    sum(latency_ns * greatest(0, 1 - greatest(occupancy_pct / 100,
      allowed_ns(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes) / own_ns))) AS gain_ns
  FROM finding_kernel LEFT JOIN geometry USING (site_id) LEFT JOIN grid USING (site_id)
  WHERE counted IS NULL GROUP BY kernel_label(name) HAVING weighted_mean(occupancy_pct, latency_ns) < 30
  ORDER BY gain_ns DESC, label LIMIT 1)
-- A larger grid is no help to a kernel that reaches what its registers or its shared memory allow.
SELECT printf('%s fills %.0f %% of the multiprocessors'' warps, for %s; %s.', label, occupancy_pct, whole_share(ns),
    CASE WHEN is_full THEN concat('more do not fit, because of its ', replace(limiter, '_', ' '))
         WHEN waves < 1 THEN printf('its grid fills the device %s times', all_waves)
         WHEN limiter IS NULL THEN 'what limits it is not known'
         ELSE concat('it is limited by its ', replace(limiter, '_', ' ')) END) AS finding, 'kernel' AS level,
  share_in_step(gain_ns) AS gain_ns,
  CASE WHEN waves < 1 AND NOT is_full THEN 'Give the device more at once: more inputs, or kernels on several streams.'
       WHEN limiter IN ('registers', 'shared_memory') THEN 'Smaller tiles, or a library that chooses them by shape.'
       ELSE 'Larger blocks, or more inputs at once.' END AS advice,
  'occupancy' AS evidence, concat('Compare the warps and the time of ', label, ' in occupancy, before and after.')
    AS check, label AS culprit, NULL AS layer
FROM (SELECT *, coalesce(limiter IN ('registers', 'shared_memory') AND occupancy_pct >= 0.8 * most_pct, false)
        AS is_full
      FROM empty_kernel), finding_usable WHERE kernels_hold
