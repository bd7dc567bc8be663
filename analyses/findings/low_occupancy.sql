-- @title Low occupancy
-- @rule A kernel fills few of the multiprocessors' warps.
-- @needs kernel
WITH geometry AS (
  SELECT site_id, max(value) AS limiter FROM site_attribute
  WHERE run_id = chosen_run(6, (SELECT batch FROM finding_batch)) AND key = 'occupancy_limiter' GROUP BY site_id),
grid AS (
  SELECT site_id, max(value) AS waves FROM site_counter
  WHERE run_id = chosen_run(6, (SELECT batch FROM finding_batch)) AND name = 'waves' GROUP BY site_id),
empty_kernel AS (
  SELECT kernel_label(name) AS label, CASE WHEN len(label) > 60 THEN label[:59] || '…' ELSE label END AS name,
    sum(latency_ns) AS ns, weighted_mean(occupancy_pct, latency_ns) AS occupancy_pct,
    max_by(limiter, latency_ns) AS limiter, weighted_mean(waves, latency_ns) AS waves,
    sum(greatest(0, latency_ns - least_ns(flops, dram_bytes, peak_flops, peak_bytes))) AS gain_ns
  FROM finding_kernel LEFT JOIN geometry USING (site_id) LEFT JOIN grid USING (site_id)
  WHERE counted IS NULL GROUP BY kernel_label(name) HAVING weighted_mean(occupancy_pct, latency_ns) < 30
  ORDER BY gain_ns DESC, name LIMIT 1)
SELECT printf('%s fills %.0f %% of the multiprocessors'' warps, for %s; %s.', name, occupancy_pct, whole_share(ns),
    CASE WHEN waves < 1 THEN printf('its grid fills the device %.2g times', waves)
         WHEN limiter IS NULL THEN 'what limits it is not known'
         ELSE concat(replace(limiter, '_', ' '), ' limit it') END) AS finding, 'kernel' AS level,
  share_in_step(gain_ns) AS gain_ns,
  CASE WHEN waves < 1 THEN 'Give the device more at once: more inputs, or kernels on several streams.'
       WHEN limiter IN ('registers', 'shared_memory') THEN 'Smaller tiles, or a library that chooses them by shape.'
       ELSE 'Larger blocks, or more inputs at once.' END AS advice,
  'occupancy' AS evidence, concat('Compare the warps and the time of ', name, ' in occupancy, before and after.')
    AS check, name AS culprit, NULL AS layer
FROM empty_kernel, finding_usable WHERE kernels_hold
