-- These tables hold the layers and kernels, with what several rules of findings ask of them.

-- latency_ns is the kernel's part of the time in which any kernel runs, so that shares add up. own_ns is its duration.
-- gpu_ns is its part of the time in which any kernel of its layer runs.
CREATE OR REPLACE TEMP TABLE finding_kernel AS
  SELECT k.* REPLACE (latency_ns * coalesce(alone_ns / part_ns, 1) AS latency_ns), latency_ns AS own_ns,
    latency_ns * coalesce(cover, 1) AS gpu_ns
  FROM kernel_fact k LEFT JOIN finding_overlap o ON o.layer = coalesce(k.layer, 'no layer')
      AND o.kernel = kernel_label(k.name)
    LEFT JOIN finding_layer_cover c ON c.layer IS NOT DISTINCT FROM k.layer;
-- The time of each layer where it runs: of its kernels on a GPU, else its own time. ran_ns is the time by which the
-- rooflines divide, in which any of its kernels runs.
CREATE OR REPLACE TEMP TABLE finding_layer AS
  WITH layer AS MATERIALIZED (
    SELECT c.* REPLACE (kernel_ns * coalesce(factor, 1) AS kernel_ns), kernel_ns * coalesce(cover, 1) AS gpu_ns,
      operator_of(type) AS operator, arithmetic AS precision
    FROM layer_roof c LEFT JOIN finding_cost_cover v ON v.cost_layer = c.name LEFT JOIN (
      SELECT coalesce(r.cost_layer, o.layer) AS name, sum(alone_ns) / sum(part_ns) AS factor
      FROM finding_overlap o
        LEFT JOIN (SELECT name, any_value(cost_layer) AS cost_layer FROM layer_roof GROUP BY name) r
          ON r.name = o.layer
      GROUP BY 1) f ON f.name = c.name)
  SELECT l.*, CASE WHEN l.flops_in = 'outer' THEN NULL WHEN is_gpu THEN kernel_ns ELSE cost_ns END AS ns,
    CASE WHEN is_gpu THEN gpu_ns ELSE cost_ns END AS ran_ns,
    counted_flops, counted_bytes, counted_l2_bytes, peak_l2_bytes, is_counted
  FROM layer l LEFT JOIN (
    SELECT coalesce(cost_layer, layer) AS name, sum(k.flops) AS counted_flops, sum(dram_bytes) AS counted_bytes,
      sum(l2_bytes) AS counted_l2_bytes, max(peak_l2_bytes) AS peak_l2_bytes,
      bool_and(counted IS NULL) AS is_counted
    FROM finding_kernel k LEFT JOIN layer outer_layer ON outer_layer.name = k.layer
    WHERE layer IS NOT NULL GROUP BY 1) USING (name);
-- The least time that the ceilings allow, at the highest ceiling that may apply and at the lowest. It is computed for
-- each kernel if all kernels of the layer were counted, else for the layer by its shapes. Kernels that only serve those
-- which multiply matrices (changes of layout, sums of parts) can be avoided: another layout or algorithm needs none. A
-- part that is faster than its ceilings (a cache held its data) has its own time as the least, so that it hides nothing
-- that another part could gain. A layer keeps the share of its roof that its roofline tells, whatever part of the time
-- among kernels that overlap it has.
CREATE OR REPLACE TEMP TABLE finding_part AS
  WITH part AS (
    SELECT f.layer, c.type, c.precision, f.latency_ns AS ns,
      CASE WHEN work = 0 AND max(work) OVER (PARTITION BY f.layer) = 2 THEN 0
           ELSE least_ns(f.flops, dram_bytes, f.peak_flops, f.peak_bytes)
             * (sum(f.latency_ns) OVER (PARTITION BY f.layer) / sum(f.gpu_ns) OVER (PARTITION BY f.layer)) END
        AS least_ns, least_ns AS high_least_ns,
      coalesce(max_by(kernel_bound, CASE WHEN work = 2 THEN f.latency_ns END) OVER (PARTITION BY f.layer),
        kernel_bound) AS bound,
      'layer_counted_roofline' AS evidence
    FROM (
      SELECT *, kernel_work(name, pipe) AS work,
        CASE kernel_limit(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes, own_ns)
          WHEN 'latency' THEN 'latency' ELSE bound_by(flops, dram_bytes, peak_flops, peak_bytes) END AS kernel_bound
      FROM finding_kernel) f JOIN finding_layer c ON c.name = f.layer
    WHERE is_counted
    UNION ALL
    SELECT name, type, precision, ns, least_ns(flops, bytes, peak_flops, peak_high_bytes) * (ns / ran_ns),
      high_least_ns(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes, ran_ns) * (ns / ran_ns),
      bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes), 'layer_roofline'
    FROM finding_layer WHERE ns > 0 AND is_counted IS NOT true)
  SELECT part.* REPLACE (least(ns, least_ns) AS least_ns, least(ns, high_least_ns) AS high_least_ns),
    part.least_ns IS NOT NULL AND CASE WHEN is_gpu THEN u.kernels_hold ELSE u.layers_hold END AS is_known
  FROM part, finding_place, finding_usable u;
