-- @id x27
-- @name training_phases
-- @title Phases of a training
-- @question Where does a training step spend its time: data, forward, backward, optimiser, or waiting for others?
-- A step ends with the step of the optimiser. Its time is that of time_of_step: a mean over steady steps of the run
-- that recorded least, or of the run that recorded most if the host is ahead of the device. The times on the host are
-- of the same steps, and are the times that the program waited for each phase. The row `other` is the rest of the
-- step. It is the work of the host in no phase, and, if the host is ahead, the time by which the device takes longer
-- than the host. A device that is still busy makes a later phase wait. Times on the device come from the kernel run:
-- the time in which it ran kernels of the phase, while the host was in any phase. Communication is the time of NCCL's
-- kernels. It is exposed while no other kernel runs on that device.
-- @needs training
-- @view table columns=phase,steps,calls_per_step,time_ns,share_pct,gpu_ns,communication_ns,exposed_ns
-- @view table bar=share_pct
-- @column phase text The phase: data, forward, backward, optimizer, other, or step for all of them.
-- @column steps count Number of steady steps, of all processes together.
-- @column calls_per_step number Number of times that the phase begins in a step.
-- @column time_ns ns Time of the host in one step; for other, the rest of the step.
-- @column share_pct pct Share of time_ns in the step.
-- @column gpu_ns ns Mean time per step in which the device ran kernels of the phase, without communication.
-- @column communication_ns ns Mean time per step in which the device communicated.
-- @column exposed_ns ns Part of communication_ns in which the device ran nothing else.
WITH phase_of AS (
  SELECT run_id, site_id, any_value(value) AS phase FROM site_attribute WHERE key = 'phase' GROUP BY ALL),
host_phase AS MATERIALIZED (FROM training_host_phases()),
device_step AS (
  SELECT * FROM whole_step WHERE run_id = chosen_run(6, NULL) AND kind IN ('optimizer', 'mark')),
-- The device's work since the first step began, in the run that recorded it.
kernel AS MATERIALIZED (
  SELECT k.process, k.device, k.start_ns, k.start_ns + k.duration_ns AS end_ns,
    k.name ILIKE 'nccl%' AS is_communication,
    coalesce(p.phase, CASE WHEN k.model_id IS NOT NULL THEN 'forward' ELSE 'other' END) AS phase
  FROM span k LEFT JOIN span l ON l.run_id = k.run_id AND l.span_id = k.layer_id
    LEFT JOIN phase_of p ON p.run_id = l.run_id AND p.site_id = l.site_id
  WHERE k.run_id = chosen_run(6, NULL) AND k.level = 6 AND is_kernel(k.type) AND NOT k.is_open
    AND k.start_ns >= (SELECT min(start_ns) FROM device_step)),
-- Each kernel is a member of its phase and of the step. Kernels other than communication are also members of the work
-- that hides communication.
member AS (
  SELECT *, is_communication AS communicates FROM kernel
  UNION ALL SELECT * REPLACE ('step' AS phase), is_communication FROM kernel
  UNION ALL SELECT * REPLACE ('' AS phase), false FROM kernel WHERE NOT is_communication),
covered AS (
  SELECT *, max(end_ns) OVER (PARTITION BY process, device, phase, communicates ORDER BY start_ns
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
  FROM member),
-- Kernels that touch or overlap make one island.
island AS MATERIALIZED (
  SELECT process, device, phase, communicates, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM (
    SELECT *, sum(CAST(coalesce(start_ns > covered_ns, true) AS INTEGER)) OVER (
      PARTITION BY process, device, phase, communicates ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS number
    FROM covered)
  GROUP BY process, device, phase, communicates, number),
hidden AS (
  SELECT c.phase, sum(least(c.end_ns, i.end_ns) - greatest(c.start_ns, i.start_ns)) AS hidden_ns
  FROM island c JOIN island i ON i.process IS NOT DISTINCT FROM c.process AND i.device = c.device AND i.phase = ''
    AND i.start_ns < c.end_ns AND i.end_ns > c.start_ns
  WHERE c.communicates GROUP BY c.phase),
device_steps AS (SELECT nullif(count(*), 0) AS steps FROM device_step),
device_phase AS (
  SELECT phase, sum(end_ns - start_ns) FILTER (NOT communicates) AS gpu_ns,
    sum(end_ns - start_ns) FILTER (communicates) AS communication_ns
  FROM island WHERE phase <> '' GROUP BY phase)
SELECT h.phase, h.steps, h.calls_per_step, h.time_ns,
  pct(h.time_ns, (SELECT time_ns FROM host_phase WHERE phase = 'step')) AS share_pct,
  d.gpu_ns / device_steps.steps AS gpu_ns, d.communication_ns / device_steps.steps AS communication_ns,
  (d.communication_ns - coalesce(x.hidden_ns, 0)) / device_steps.steps AS exposed_ns
FROM host_phase h LEFT JOIN device_phase d USING (phase) LEFT JOIN hidden x USING (phase) CROSS JOIN device_steps
ORDER BY list_position(['data', 'forward', 'backward', 'optimizer', 'other', 'step'], h.phase)
