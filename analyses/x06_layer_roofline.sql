-- @id x6
-- @name layer_roofline
-- @title Analytic layer roofline
-- @question How close is each layer to the machine's limits, and what bounds it?
-- The analytic flops and bytes (see layer_flops) are divided by the layer's own latency, and compared with the ceilings
-- of the device that the layers ran on. The roof of a layer is the lesser of the peak flops and its intensity times the
-- memory bandwidth. roof_pct is the least time that the ceilings allow divided by the time that the layer took, so it
-- is also valid for layers without flops. The bytes are those of inputs and outputs, so on a CPU a layer whose data
-- stays in the caches can exceed 100 %. On a GPU, the latency is the time in which any of the layer's kernels runs,
-- from the kernel run, because the host only launches them. A layer without kernels there has no roof. For nested
-- layers, the latency covers the same layers as the flops. If the flops are counted in the outermost layer that is
-- known, its latency includes the layers inside it, and these have no row. On a GPU, the ceiling of the arithmetic is
-- that of the pipe on which the layer's kernels multiply matrices. The counters tell the pipe, or else the kernels'
-- names. If neither does, the ceiling lies between two ceilings (float32 may be computed in fp32 or TF32). Data that
-- fits into the L2 cache may come from there or from the memory, so the memory may not be the limit. roof_pct compares
-- the layer with the highest roof, and roof_high_pct with the lowest. Other layers are compared with the pipes without
-- tensor cores. If a required ceiling is not known, the roof is not known either. On a CPU, the ceiling of fp32 also
-- stands for the other types of floating point.
-- @needs layer,peak
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @view roofline title=layers_by_shapes x=intensity_flops_per_byte y=attained_flops_per_s label=label
-- @view roofline size=latency_ns colour=bound,type peak=peak_flops_per_s
-- @view table caption=batch,peak_bytes_per_s
-- @view table columns=index,label,type,latency_ns,intensity_flops_per_byte,attained_flops_per_s,pipe,bound,roof_pct
-- @view table columns=roof_high_pct
-- @view table by=latency_ns top=20 bar=roof_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column name text The framework's name of the layer.
-- @column label text The layer in the model's own names; fused layers follow plus signs.
-- @column type text The layer's operator.
-- @column latency_ns ns Time in one inference of the layers that the flops cover; on a GPU, while their kernels run.
-- @column flops flops Analytic flops in one inference; empty: unknown.
-- @column bytes bytes Analytic bytes in one inference; empty: unknown.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column attained_flops_per_s flops_per_s Flops / latency.
-- @column roof_flops_per_s flops_per_s The rate that the highest ceilings allow at this intensity.
-- @column roof_pct pct Attained share of the highest roof that may apply: a lower bound.
-- @column roof_high_pct pct Share of the lowest roof that may apply, at most 100: an upper bound; empty: unknown.
-- @column bound text The limit: memory or compute, or both if undecided; empty: flops or ceiling are not known.
-- @column pipe text The pipe that does the arithmetic; two pipes, if it is not known which one it is.
-- @column peak_flops_per_s flops_per_s Ceiling of the arithmetic, on the fastest of the pipes.
-- @column peak_low_flops_per_s flops_per_s Ceiling of the arithmetic, on the slowest of the pipes.
-- @column peak_bytes_per_s bytes_per_s Ceiling of the memory.
-- @column peak_high_bytes_per_s bytes_per_s Ceiling of the L2 cache, if the layer's data fits in; else the memory's.
-- @column peak_source text Source of the ceiling of arithmetic: measured or attribute.
WITH cost AS (
  SELECT r.* REPLACE (CASE WHEN is_gpu THEN kernel_ns * coalesce(cover, 1) ELSE cost_ns END AS self_ns)
  FROM layer_roof r LEFT JOIN cost_cover c ON c.cost_layer = r.name WHERE flops_in IS DISTINCT FROM 'outer')
SELECT batch, ordinal AS index, name, layer_label(name, source_layers) AS label, type,
  self_ns AS latency_ns, flops, bytes,
  intensity(flops, bytes) AS intensity_flops_per_byte,
  intensity(peak_flops, peak_high_bytes) AS ideal_flops_per_byte,
  1e9 * flops / nullif(self_ns, 0) AS attained_flops_per_s,
  roof(flops, bytes, peak_flops, peak_high_bytes) AS roof_flops_per_s,
  pct(least_ns(flops, bytes, peak_flops, peak_high_bytes), self_ns) AS roof_pct,
  pct(high_least_ns(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes, self_ns),
      self_ns) AS roof_high_pct,
  bound_between(flops, bytes, peak_low_flops, peak_flops, peak_bytes, peak_high_bytes) AS bound,
  pipe_range(low_pipe, pipe) AS pipe, peak_flops AS peak_flops_per_s, peak_low_flops AS peak_low_flops_per_s,
  peak_bytes AS peak_bytes_per_s, peak_high_bytes AS peak_high_bytes_per_s, peak_source
FROM cost LEFT JOIN (SELECT site_id, source_layers FROM layer_shapes(CAST($batch AS INTEGER))) USING (site_id)
ORDER BY ordinal
