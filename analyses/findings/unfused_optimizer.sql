-- @title Optimiser that is not fused
-- @rule The optimiser does its step in many small operations.
-- @needs watched
-- If the device waits for the host, the optimiser takes as long as its phase in training_phases. If the device has work
-- for most of the step, only the optimiser's visible part counts.
WITH phase AS (
  SELECT b.*, CASE WHEN busy_ns < 0.5 * step_ns THEN greatest(b.ns, coalesce(
      (SELECT time_ns FROM training_host_phases() WHERE phase = 'optimizer'), 0)) ELSE b.ns END AS phase_ns
  FROM blamed(NULL, ['optimizer']) b, finding_step, finding_busy)
SELECT concat('The optimiser does its step in ', printf('%.0f', calls), ' pieces, which take ',
    step_share(phase_ns), ', mostly ', blame_text(culprit, layer, place), '.') AS finding,
  'layer' AS level, phase_ns AS gain_ns,
  CASE WHEN is_on_device() THEN concat('Use an optimiser that updates all parameters at once (fused=True, or ',
      'foreach=True), and clip the gradients of all at once.')
    ELSE concat('Use an optimiser that updates all parameters at once: fused=True, where the framework has it for a ',
      'CPU, or compile the step of the optimiser. foreach=True gains nothing on a CPU.') END AS advice,
  'training_phases' AS evidence,
  concat('The phase optimizer of training_phases must take less time, and have fewer ',
    'pieces in time_of_step.') AS check,
  culprit, layer
FROM phase
WHERE is_unfused()
