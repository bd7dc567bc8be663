-- @id x24
-- @name kernel_sequence
-- @title Stability of the kernels' sequence
-- @question Does every inference run the same kernels, and did the runs that counted run the same ones?
-- A kernel is identified by its layer and its position among the layer's kernels. Two inferences have the same
-- sequence if they ran the same kernels at the same places. A kernel has counters only if the run that counted had a
-- kernel of the same name at the same place. The analyses that use counters leave unmatched kernels out, and say so.
-- @needs kernel
-- @view table columns=batch,inferences,kernels,sequences,commonest_pct,counted,matched,matched_latency_pct,unmatched
-- @column batch count Inputs per inference.
-- @column inferences count Number of inferences of the kernel run that were compared.
-- @column kernels count Number of different kernels and places.
-- @column sequences count Number of different sequences.
-- @column commonest_pct pct Share of the inferences that have the commonest sequence.
-- @column is_stable bool Whether all inferences have the same sequence.
-- @column counted count Number of different kernels and places of the runs that counted; empty: no run counted.
-- @column matched count Number of kernels and places of the kernel run that were counted.
-- @column matched_latency_pct pct Share of the matched kernels in the latency of all kernels.
-- @column unmatched text The first kernel that was not matched, and the reason.
WITH fact AS MATERIALIZED (FROM kernel_facts(kernel_batches(), 'measured')),
inference AS (
  SELECT r.batch, i.process, s.iteration,
    bit_xor(hash(CAST(s.site_id AS BIGINT) * 4294967296 + s.ordinal)) AS sequence
  FROM measured_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
  WHERE r.level = 6 AND s.level = 6 AND is_kernel(s.type)
  GROUP BY ALL),
sequence AS (SELECT batch, sequence, count(*) AS inferences FROM inference GROUP BY ALL),
stable AS (
  SELECT batch, sum(inferences) AS inferences, count(*) AS sequences,
    pct(max(inferences), sum(inferences)) AS commonest_pct FROM sequence GROUP BY batch),
counted AS (
  SELECT batch, count(DISTINCT (layer, occurrence, position, name)) AS counted FROM counted_kernels(kernel_batches())
  GROUP BY batch),
matched AS (
  SELECT batch, count(*) AS kernels, count(*) FILTER (counted IS NULL) AS matched,
    pct(coalesce(sum(latency_ns) FILTER (counted IS NULL), 0), sum(latency_ns)) AS matched_latency_pct,
    min_by(concat(coalesce(layer, 'no layer'), ' ', position, ': ', kernel_label(name), ': ', counted),
      (ordinal, -latency_ns, name))
      FILTER (counted IS NOT NULL) AS unmatched
  FROM fact GROUP BY batch)
SELECT batch, inferences, kernels, sequences, commonest_pct, sequences = 1 AS is_stable, counted,
  CASE WHEN counted IS NOT NULL THEN matched END AS matched,
  CASE WHEN counted IS NOT NULL THEN matched_latency_pct END AS matched_latency_pct, unmatched
FROM stable JOIN matched USING (batch) LEFT JOIN counted USING (batch)
ORDER BY batch
