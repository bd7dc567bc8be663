-- @id x8
-- @name layer_order
-- @title Stability of the layers' order
-- @question Does every inference execute the same layers in the same order?
-- Two inferences have the same sequence if the same layers ran at the same positions. If the order changes (layers run
-- in parallel, or control flow decides), a layer's index is the first position at which it was seen.
-- @needs layer
-- @view table
-- @column batch count Inputs per inference.
-- @column inferences count Number of inferences that were compared.
-- @column layers count Number of different layers that were executed.
-- @column sequences count Number of different sequences.
-- @column commonest_pct pct Share of the inferences that have the commonest sequence.
-- @column is_stable bool Whether all inferences have the same sequence.
WITH inference AS (
  -- Layer and position make one number before hashing. The separate hashes of pairs would cancel out under the
  -- exclusive or.
  SELECT r.run_id, r.batch, i.process, s.iteration,
    bit_xor(hash(CAST(s.site_id AS BIGINT) * 4294967296 + s.ordinal)) AS sequence
  FROM measured_run r JOIN measured_inference i USING (run_id)
    JOIN span s ON s.run_id = i.run_id AND s.iteration = i.iteration AND coalesce(s.process, 0) = i.process
  WHERE r.level = 3 AND s.level = 3
  GROUP BY ALL),
sequence AS (SELECT run_id, batch, sequence, count(*) AS inferences FROM inference GROUP BY ALL)
SELECT batch, sum(inferences) AS inferences,
  any_value((SELECT count(DISTINCT site_id) FROM span s
             WHERE s.run_id = sequence.run_id AND s.level = 3 AND s.iteration >= 0)) AS layers,
  count(*) AS sequences, pct(max(inferences), sum(inferences)) AS commonest_pct, count(*) = 1 AS is_stable
FROM sequence
GROUP BY batch
ORDER BY batch
