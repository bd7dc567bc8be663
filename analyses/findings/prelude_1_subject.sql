-- These tables hold what the rules of findings are about. xsp fills them once for the requested batch size, before the
-- rules run, and after them those of the folder's other preludes.

-- The rows of the rules: a sentence with its numbers; the level that it is about; the most of the model's latency that
-- acting on it can gain; the advice; the analysis to look at, and how to check; the name of the culprit.
CREATE OR REPLACE TEMP TABLE found(rule VARCHAR, finding VARCHAR, level VARCHAR, gain_ns DOUBLE, advice VARCHAR,
  evidence VARCHAR, "check" VARCHAR, culprit VARCHAR, layer VARCHAR);

CREATE OR REPLACE TEMP TABLE finding_batch AS SELECT chosen_batch(2, CAST($batch AS INTEGER)) AS batch;
CREATE OR REPLACE TEMP TABLE finding_model AS
  SELECT batch, run_id, sorted, inferences AS n, latency_ns FROM model_latency
  WHERE batch = (SELECT batch FROM finding_batch);

-- Times that recording distorted, or that something else disturbed, are not used. The durations of kernels come from
-- the device's own clock, which recording does not slow.
CREATE OR REPLACE TEMP TABLE finding_usable AS
  WITH bad AS (
    SELECT level, kind FROM level_doubt
    WHERE kind IN ('distorted', 'disturbed') AND batch = (SELECT batch FROM finding_batch))
  SELECT NOT EXISTS (FROM bad WHERE level = 2) AS model_holds, NOT EXISTS (FROM bad WHERE level = 3) AS layers_hold,
    NOT EXISTS (FROM bad WHERE level = 6) AS timeline_holds,
    NOT EXISTS (FROM bad WHERE level = 6 AND kind = 'disturbed') AS kernels_hold;

-- The compiler that the framework of the runs offers; NULL: it offers none, or always compiles.
CREATE OR REPLACE TEMP MACRO offered_compiler() AS (
  -- A program in JAX is watched where it calls compiled functions.
  SELECT CASE WHEN any_value(framework) LIKE 'jax%' AND fact_of('recorded_by') IS NOT NULL THEN NULL
    WHEN any_value(framework) LIKE 'jax%' THEN 'jax.jit'
    WHEN any_value(framework) LIKE 'tensorflow%' OR any_value(framework) LIKE 'keras%' THEN 'tf.function'
    WHEN any_value(framework) IN ('onnxruntime', 'tensorrt', 'pjrt', 'ggml', 'mxnet', 'opencv_dnn') THEN NULL
    ELSE 'torch.compile' END FROM run);
-- The compiler that may still be used; NULL: none, because the model is compiled already, for example.
CREATE OR REPLACE TEMP MACRO compiler_name() AS CASE WHEN NOT is_package() THEN offered_compiler() END;

-- ---- Where it ran --------------------------------------------------------------------------------------------

CREATE OR REPLACE TEMP TABLE finding_place AS
  SELECT run_id, device, threads, device LIKE 'cuda%' AS is_gpu FROM measured_run
  WHERE run_id = chosen_layer_run((SELECT batch FROM finding_batch));
CREATE OR REPLACE TEMP TABLE finding_ceiling AS
  FROM pipe_ceilings([chosen_layer_run((SELECT batch FROM finding_batch))]);
-- The run whose spans have the causes of time (see time_of_step).
CREATE OR REPLACE TEMP TABLE finding_run AS SELECT cause_run((SELECT batch FROM finding_batch)) AS run_id;
CREATE OR REPLACE TEMP MACRO finding_run_id() AS (SELECT run_id FROM finding_run);

-- ---- What only a device shows, or watching -------------------------------------------------------------------
--
-- The next preludes fill these tables. If nothing of the kind was recorded, they are left out, because on a small file
-- their queries take about as long as all others together.

-- The kernels of an inference that overlap others: their summed time, and the part of it that no other has.
CREATE OR REPLACE TEMP TABLE finding_overlap(layer VARCHAR, kernel VARCHAR, part_ns DOUBLE, alone_ns DOUBLE);
-- The part of the summed time of a layer's kernels in which any of them runs.
CREATE OR REPLACE TEMP TABLE finding_layer_cover(layer VARCHAR, cover DOUBLE);
CREATE OR REPLACE TEMP TABLE finding_cost_cover(cost_layer VARCHAR, cover DOUBLE);

-- The unit that repeats, and its length: a step of a watched program, else an inference. `inferences` counts the
-- inferences in it. Gains are gains of this unit.
CREATE OR REPLACE TEMP TABLE finding_step(unit VARCHAR, step_ns DOUBLE, inferences DOUBLE);
CREATE OR REPLACE TEMP TABLE finding_step_cause(cause VARCHAR, culprit VARCHAR, layer VARCHAR, place VARCHAR,
  time_ns DOUBLE, hidden_ns DOUBLE, calls DOUBLE);
-- The devices that this run recorded.
CREATE OR REPLACE TEMP TABLE finding_device(device VARCHAR);
CREATE OR REPLACE TEMP MACRO is_on_device() AS EXISTS (FROM finding_device);
-- Large copies between pageable memory of the host and a device, by the layer that requests them. Small copies are left
-- out, because pinning gains nothing there.
CREATE OR REPLACE TEMP TABLE finding_pageable(layer VARCHAR, copies BIGINT, bytes DOUBLE);
-- The layers that read values from a device: they copy no more than a few bytes, and only to the host (aten::item).
-- The host waits for such a copy, so it is a synchronisation, and copying ahead is no way out.
CREATE OR REPLACE TEMP TABLE finding_read(layer VARCHAR, type VARCHAR);
