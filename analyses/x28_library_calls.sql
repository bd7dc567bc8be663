-- @id x28
-- @name library_calls
-- @title Calls of libraries, with the time of one call
-- @question Which products, convolutions and collectives did the libraries compute, and how fast were they?
-- Calls of one function with one problem are one row, and a call inside another call counts with the outer one.
-- host_ns is the time in the call, from the run that recorded nothing deeper, if there is one; on a GPU, a call
-- launches its work and returns. gpu_ns is the time of the kernels that were launched in the call, from a run that
-- recorded kernels. gpu_share_pct is their share of the time of all kernels in that run. flops follow from the
-- problem, if it is a product of matrices or vectors, a convolution, a linear layer or an attention. An attention is
-- counted in full, with the parts that a mask leaves out. A multiplication and an addition count as 2. flops_per_s
-- uses the time on the GPU, or the time on the host for calls of the CPU's libraries. Calls in measured inferences and
-- calls outside of all inferences are counted; warm-up is not. A problem is `various` if there were too many problems
-- to distinguish.
-- @needs library_calls
-- @view table caption=batch columns=library,function,problem,calls,host_ns,gpu_ns,gpu_share_pct,flops_per_s
-- @column batch count Inputs per inference.
-- @column library text Name of the library: cublas, cudnn, cufft, nccl, onednn, blas.
-- @column function text Name of the function.
-- @column problem text The problem: sizes, transpositions, shapes.
-- @column dtype text Type of the elements.
-- @column calls count Number of calls.
-- @column host_ns ns Median time in the call.
-- @column host_total_ns ns Time of all calls together.
-- @column kernels number Mean number of kernels that a call launched.
-- @column gpu_ns ns Mean time of a call's kernels.
-- @column gpu_total_ns ns Time of the kernels of all calls together.
-- @column gpu_share_pct pct Share of gpu_total_ns in the time of all kernels.
-- @column flops flops Operations of one call.
-- @column flops_per_s flops_per_s Operations per second.
WITH RECURSIVE library_run AS (
  SELECT run_id, coalesce(batch, 1) AS batch, levels, deepest_level(levels) = 6 AS has_kernels
  FROM run WHERE NOT has_counters(counters) AND status <> 'failed'
    AND run_id IN (SELECT run_id FROM span WHERE level = 4)),
host_run AS (
  FROM library_run QUALIFY row_number() OVER (PARTITION BY batch ORDER BY deepest_level(levels), run_id) = 1),
device_run AS (
  FROM library_run WHERE has_kernels QUALIFY row_number() OVER (PARTITION BY batch ORDER BY run_id) = 1),
outer_call AS (
  SELECT run_id, span_id, site_id, name, type, duration_ns FROM span
  WHERE level = 4 AND depth = 0 AND NOT is_open AND coalesce(iteration, 0) >= 0),
-- The launches below a call: its own, and those of the calls inside it.
below AS (
  SELECT run_id, span_id, site_id AS call_site FROM outer_call JOIN device_run USING (run_id)
  UNION ALL
  SELECT s.run_id, s.span_id, b.call_site FROM span s JOIN below b ON b.run_id = s.run_id AND b.span_id = s.parent_id
  WHERE s.level IN (4, 5)),
kernel AS (
  SELECT k.run_id, k.duration_ns, b.call_site
  FROM span k JOIN device_run d ON d.run_id = k.run_id
    LEFT JOIN below b ON b.run_id = k.run_id AND b.span_id = k.parent_id
  WHERE k.level = 6 AND is_kernel(k.type) AND coalesce(k.iteration, 0) >= 0),
fact AS (
  SELECT run_id, site_id, map_from_entries(list({'k': key, 'v': value})) AS facts
  FROM (SELECT run_id, site_id, key, any_value(value) AS value FROM site_attribute
        WHERE (run_id, site_id) IN (SELECT run_id, site_id FROM outer_call) GROUP BY ALL)
  GROUP BY ALL),
various AS (
  SELECT DISTINCT run_id, site_id FROM outer_call JOIN span_attribute USING (run_id, span_id)),
site AS (
  SELECT run_id, site_id, any_value(c.name) AS function, any_value(c.type) AS library,
    any_value(library_problem(f.facts)) AS problem, any_value(library_dtype(f.facts)) AS dtype,
    any_value(library_flops(c.name, f.facts)) AS flops, bool_or(v.site_id IS NOT NULL) AS is_various
  FROM outer_call c LEFT JOIN fact f USING (run_id, site_id) LEFT JOIN various v USING (run_id, site_id)
  GROUP BY run_id, site_id),
named AS (
  SELECT run_id, site_id, function, library, flops, coalesce(dtype, '') AS dtype,
    CASE WHEN is_various THEN 'various' ELSE coalesce(problem, '') END AS problem FROM site),
host AS (
  SELECT r.batch, n.library, n.function, n.problem, n.dtype, any_value(n.flops) AS flops, count(*) AS calls,
    median(c.duration_ns) AS host_ns, sum(c.duration_ns) AS host_total_ns
  FROM outer_call c JOIN host_run r USING (run_id) JOIN named n USING (run_id, site_id) GROUP BY ALL),
device AS (
  SELECT r.batch, n.library, n.function, n.problem, n.dtype, count(*) AS calls
  FROM outer_call c JOIN device_run r USING (run_id) JOIN named n USING (run_id, site_id) GROUP BY ALL),
work AS (
  SELECT r.batch, n.library, n.function, n.problem, n.dtype, count(*) AS kernels, sum(k.duration_ns) AS gpu_total_ns
  FROM kernel k JOIN device_run r USING (run_id)
    JOIN named n ON n.run_id = k.run_id AND n.site_id = k.call_site GROUP BY ALL),
whole AS (SELECT batch, sum(duration_ns) AS kernels_ns FROM kernel JOIN device_run USING (run_id) GROUP BY batch)
SELECT batch, library, function, problem, dtype, h.calls, host_ns, host_total_ns, w.kernels / d.calls AS kernels,
  w.gpu_total_ns / d.calls AS gpu_ns, w.gpu_total_ns, pct(w.gpu_total_ns, kernels_ns) AS gpu_share_pct, flops,
  CASE WHEN library IN ('blas', 'onednn') THEN 1e9 * flops / nullif(host_ns, 0)
       ELSE 1e9 * flops / nullif(w.gpu_total_ns / d.calls, 0) END AS flops_per_s
FROM host h LEFT JOIN device d USING (batch, library, function, problem, dtype)
  LEFT JOIN work w USING (batch, library, function, problem, dtype) LEFT JOIN whole USING (batch)
ORDER BY batch, w.gpu_total_ns DESC NULLS LAST, host_total_ns DESC, library, function, problem, dtype
