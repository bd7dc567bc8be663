-- @id a9
-- @name kernel_roofline
-- @title Kernel roofline
-- @question How close is each kernel to the device's limits, and what bounds it?
-- Each kernel that was counted is compared with the roof of its own pipe. The roof is the lesser of the pipe's ceiling
-- and the kernel's arithmetic intensity times the memory bandwidth. roof_pct is the least time that the ceilings allow
-- divided by the time that the kernel took, so it is also valid for kernels without flops. That time is the kernel's
-- own duration, whatever else runs meanwhile. Durations come from the run that did not count.
-- @needs kernel,counters,peak
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view roofline title=kernels x=intensity_flops_per_byte y=arithmetic_flops_per_s label=label size=latency_ns
-- @view roofline colour=bound,pipe peak=peak_flops_per_s
-- @view table caption=batch,peak_bytes_per_s columns=index,layer,label,latency_ns,intensity_flops_per_byte
-- @view table columns=arithmetic_flops_per_s,pipe,bound,roof_pct,allowed_pct by=latency_ns top=20 bar=roof_pct
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column layer text The innermost layer that launched the kernel.
-- @column name text The kernel's name.
-- @column label text The kernel's name without return type, arguments and template.
-- @column latency_ns ns Mean over the typical inferences of the sum of its durations in one.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_bytes bytes Bytes read from and written to the device's memory.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column ideal_flops_per_byte flops_per_byte The intensity at which the two ceilings meet.
-- @column arithmetic_flops_per_s flops_per_s Flops / duration.
-- @column roof_flops_per_s flops_per_s The rate that the ceilings allow at this intensity.
-- @column roof_pct pct Share of the roof that the kernel attains.
-- @column allowed_pct pct Least time that all ceilings allow, that of the L2 cache as well, / duration.
-- @column bound text The limit: memory or compute.
-- @column pipe text The pipe that does most of the kernel's flops.
-- @column peak_flops_per_s flops_per_s Ceiling of the kernel's pipe.
-- @column peak_bytes_per_s bytes_per_s Ceiling of the memory.
-- @column peak_source text Source of the pipe's ceiling, and the pipe that it belongs to if the kernel's own has none.
SELECT batch, ordinal AS index, layer, name, kernel_label(name) AS label, latency_ns, flops, dram_bytes,
  intensity(flops, dram_bytes) AS intensity_flops_per_byte, intensity(peak_flops, peak_bytes) AS ideal_flops_per_byte,
  1e9 * flops / latency_ns AS arithmetic_flops_per_s,
  roof(flops, dram_bytes, peak_flops, peak_bytes) AS roof_flops_per_s,
  pct(least_ns(flops, dram_bytes, peak_flops, peak_bytes), latency_ns) AS roof_pct,
  pct(allowed_ns(flops, l2_bytes, dram_bytes, peak_flops, peak_l2_bytes, peak_bytes), latency_ns) AS allowed_pct,
  bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound, pipe, peak_flops AS peak_flops_per_s,
  peak_bytes AS peak_bytes_per_s,
  concat(peak_source, CASE WHEN peak_name <> peak_name_of(pipe) THEN concat(', of ', peak_name) END) AS peak_source
FROM every_kernel_fact
WHERE counted IS NULL
ORDER BY ordinal, position
