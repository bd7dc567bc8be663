-- @id x6
-- @name layer_roofline
-- @title Analytic layer roofline
-- @question How close is each layer to the machine's limits, and what bounds it?
-- Analytic flops and bytes (see layer_flops) over the layer's own latency, against the ceilings of the device that the
-- layers ran on. The roof of a layer is the lesser of peak flops and its intensity times the memory bandwidth;
-- roof_pct is the least time that the ceilings allow over the time it took, so that it holds for layers without flops,
-- too. Bytes are those of inputs and outputs: on a CPU a layer whose data stays in the caches can exceed 100 %. On a
-- GPU the latency is that of the layer's own kernels, from the kernel run, as the host's is that of launching them: a
-- layer that has none there has no roof. Where layers nest, the latency is that of what the flops stand for: with the
-- layers inside it, where the flops are counted in the outermost that is known (those inside have no row). On a GPU
-- the ceiling of arithmetic is that of the pipe on which the layer's kernels multiply its matrices: by the counters,
-- else by their names, else it lies between two (float32 may be computed in fp32 or TF32). What fits into the L2 cache
-- may come from there, or from the memory, which then need not bound it. roof_pct holds it against the highest roof,
-- roof_high_pct against the lowest. Other layers are held against the pipes without tensor cores. Where a ceiling that
-- is needed is not known, neither is the roof; on a CPU that of fp32 stands for other types of floating point.
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
-- @column name text What the framework calls the layer.
-- @column label text The layer in the model's own names, what was fused behind plus signs.
-- @column type text Its operator.
-- @column latency_ns ns Time in one inference of what its flops stand for; of its kernels on a GPU.
-- @column flops flops Analytic flops in one inference; empty: unknown.
-- @column bytes bytes Analytic bytes in one inference; empty: unknown.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column attained_flops_per_s flops_per_s Flops / latency.
-- @column roof_flops_per_s flops_per_s What the highest ceilings allow at this intensity.
-- @column roof_pct pct Of the highest roof that may apply, how much is attained: at least so much is.
-- @column roof_high_pct pct Of the lowest roof that may apply, and no more than all: at most so much; empty: unknown.
-- @column bound text memory or compute, or both where it is not known; empty: flops or ceiling are not known.
-- @column pipe text Where its arithmetic is done: two where the truth lies between.
-- @column peak_flops_per_s flops_per_s Ceiling of its arithmetic, on the fastest of the pipes.
-- @column peak_low_flops_per_s flops_per_s The same on the slowest.
-- @column peak_bytes_per_s bytes_per_s Ceiling of the memory.
-- @column peak_high_bytes_per_s bytes_per_s That of the L2 cache, where all that it moves fits in; else the same.
-- @column peak_source text Where the ceiling of arithmetic comes from: measured, attribute.
WITH cost AS (
  SELECT * REPLACE (CASE WHEN is_gpu THEN kernel_ns ELSE cost_ns END AS self_ns)
  FROM layer_roofs(CAST($batch AS INTEGER)) WHERE flops_in IS DISTINCT FROM 'outer')
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
