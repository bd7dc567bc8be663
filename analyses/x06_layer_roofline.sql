-- @id x6
-- @name layer_roofline
-- @title Analytic layer roofline
-- @question How close is each layer to the machine's limits, and what bounds it?
-- Analytic flops and bytes (see layer_flops) over the layer's own latency, against the ceilings of the device
-- that the layers ran on. The roof of a layer is the lesser of peak flops and its intensity times the memory
-- bandwidth; roof_pct is the least time that the ceilings allow over the time it took, so that it holds for layers
-- without flops, too. Bytes are those of inputs and outputs: a layer whose data stays in the caches can exceed 100 %.
-- On a GPU the latency is that of the layer's own kernels, from the kernel run, as the host's is that of launching
-- them: a layer that has none there has no roof. Where layers nest, the latency is that of what the flops stand for:
-- with the layers inside it, where the flops are counted in the outermost that is known (those inside have no row).
-- 16-bit types are held against the tensor cores, 8-bit ones against the ceiling of integer arithmetic, others against
-- fp32. Where that ceiling of integers is not known, neither is the roof of a layer that computes.
-- @needs layer,peak
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view roofline title=layers_by_shapes x=intensity_flops_per_byte y=attained_flops_per_s label=label
-- @view roofline size=latency_ns colour=bound,type peak=peak_flops_per_s
-- @view table caption=batch,peak_flops_per_s,peak_bytes_per_s
-- @view table columns=index,label,type,latency_ns,intensity_flops_per_byte,attained_flops_per_s,bound,roof_pct
-- @view table by=latency_ns top=20 bar=roof_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text What the framework calls the layer.
-- @column label text The layer in the model's own names, what was fused behind plus signs.
-- @column type text Its operator.
-- @column latency_ns ns Trimmed mean in one inference of what its flops stand for; of its kernels on a GPU.
-- @column flops flops Analytic flops in one inference; empty: unknown.
-- @column bytes bytes Analytic bytes in one inference; empty: unknown.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column attained_flops_per_s flops_per_s Flops / latency.
-- @column roof_flops_per_s flops_per_s What the ceilings allow at this intensity.
-- @column roof_pct pct Of the roof, how much is attained.
-- @column bound text memory or compute; empty: the flops or the ceiling of such arithmetic are not known.
-- @column peak_flops_per_s flops_per_s Ceiling of arithmetic, in the layer's precision where it is known.
-- @column peak_bytes_per_s bytes_per_s Ceiling of the memory.
WITH run_facts AS (
  SELECT device, threads, device LIKE 'cuda%' AS is_gpu FROM measured_run
  WHERE run_id = chosen_layer_run(CAST($batch AS INTEGER))),
kernel AS (
  SELECT layer AS name, sum(latency_ns) AS kernel_ns FROM kernels([chosen_batch(3, CAST($batch AS INTEGER))])
  WHERE layer IS NOT NULL GROUP BY layer),
layer AS MATERIALIZED (FROM layer_costs(CAST($batch AS INTEGER))),
-- Also of the layers inside it whose flops are counted in it.
cost_kernel AS (
  SELECT coalesce(cost_layer, k.name) AS name, sum(kernel_ns) AS kernel_ns FROM kernel k LEFT JOIN layer USING (name)
  GROUP BY 1),
cost AS (
  SELECT c.* REPLACE (CASE WHEN is_gpu THEN kernel_ns ELSE cost_ns END AS self_ns),
    arithmetic_of(type, input_types, output_types) AS arithmetic,
    concat(arithmetic, CASE WHEN is_gpu AND arithmetic IN ('fp16', 'bf16', 'int8') THEN '_tensor' ELSE '' END)
      AS precision
  FROM layer c LEFT JOIN cost_kernel USING (name), run_facts
  WHERE c.flops_in IS DISTINCT FROM 'outer'),
ceiling AS (
  SELECT precision, coalesce(g.value, peak_of(device, precision, 'flops_per_s', threads),
      CASE WHEN precision LIKE 'int8%' THEN peak_of(device, 'int8', 'operations_per_s', threads)
           WHEN precision <> 'unpacked' THEN peak_of(device, 'fp32', 'flops_per_s', threads) END) AS peak_flops_per_s,
    coalesce(m.value, peak_of(device, 'memory', 'bytes_per_s', threads)) AS peak_bytes_per_s
  FROM run_facts CROSS JOIN (SELECT DISTINCT precision FROM cost) p
    LEFT JOIN ceilings([chosen_layer_run(CAST($batch AS INTEGER))], 'measured') g
      ON is_gpu AND g.name = peak_name_of(precision)
    LEFT JOIN ceilings([chosen_layer_run(CAST($batch AS INTEGER))], 'measured') m
      ON is_gpu AND m.name = 'memory_bytes_per_s')
SELECT batch, ordinal AS index, name, layer_label(name, source_layers) AS label, type,
  self_ns AS latency_ns, flops, bytes,
  intensity(flops, bytes) AS intensity_flops_per_byte,
  intensity(peak_flops_per_s, peak_bytes_per_s) AS ideal_flops_per_byte,
  1e9 * flops / nullif(self_ns, 0) AS attained_flops_per_s,
  roof(flops, bytes, peak_flops_per_s, peak_bytes_per_s) AS roof_flops_per_s,
  pct(least_ns(flops, bytes, peak_flops_per_s, peak_bytes_per_s), self_ns) AS roof_pct,
  CASE WHEN flops > 0 THEN bound_by(flops, bytes, peak_flops_per_s, peak_bytes_per_s)
       WHEN flops = 0 AND bytes > 0 THEN 'memory' END AS bound,
  peak_flops_per_s, peak_bytes_per_s
FROM cost JOIN ceiling USING (precision)
  LEFT JOIN (SELECT site_id, source_layers FROM layer_shapes(CAST($batch AS INTEGER))) USING (site_id)
ORDER BY ordinal
