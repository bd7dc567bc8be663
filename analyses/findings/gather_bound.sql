-- @title Bound by gathering
-- @rule An operation gathers rows from large tables, or scatters rows to them.
SELECT concat('Gathering and scattering take ', step_share(ns), ', mostly ',
    blame_text(culprit, layer, place), '.') AS finding,
  'layer' AS level, ns AS gain_ns,
  CASE WHEN regexp_matches(lower(culprit), 'scatter|index_put|index_add')
    THEN concat('Sort what is scattered by its target, and reduce it in segments or as a sparse product, without ',
      'atomic operations; keep it in 16 bits.')
    ELSE concat('Look up fewer rows: each one once in a batch, sorted, so that they lie ',
      'together; keep the table in 16 or 8 bits, and its hot rows in a cache.') END AS advice,
  'time_of_step' AS evidence, concat('Compare the time of ', culprit, ' in time_of_step, before and after.') AS check,
  culprit, layer
-- On a device, what its host takes for it is a finding about launches.
FROM blamed(CASE WHEN is_on_device() THEN ['compute', 'other kernels'] END, ['gather'])
