-- @id a8
-- @name kernel_information
-- @title Kernel information
-- @question Which kernels does an inference run, in which layers, and what does each cost?
-- Each kernel of an inference has one row, in the order of execution. Durations come from the run that recorded
-- kernels without counting. Counters come from the runs that counted; a kernel is matched by its layer and its
-- position in the layer. If those runs ran another kernel at that place, no counters are shown, and `counted` says so.
-- Copies and memory sets are not kernels. Throughput is flops / duration. A kernel is memory-bound if its arithmetic
-- intensity is below the intensity at which the ceiling of its pipe and the ceiling of the memory meet.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured The ceilings: measured or attribute (of the device); the other kind where one is missing.
-- @view table caption=batch columns=index,layer,label,latency_ns,flops,dram_read_bytes,dram_write_bytes
-- @view table columns=occupancy_pct,bound by=latency_ns top=20
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column layer text The innermost layer that launched the kernel; empty: no layer.
-- @column position count Position among the layer's kernels, from 0.
-- @column name text The kernel's name.
-- @column label text The kernel's name without return type, arguments and template.
-- @column stream count The stream that the kernel ran on.
-- @column per_inference number Number of executions in one inference.
-- @column latency_ns ns Mean over the typical inferences of the sum of its durations in one.
-- @column min_ns ns Duration of the shortest execution.
-- @column max_ns ns Duration of the longest execution.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_read_bytes bytes Bytes read from the device's memory.
-- @column dram_write_bytes bytes Bytes written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column arithmetic_flops_per_s flops_per_s Flops / duration.
-- @column pipe text The pipe that does most of the kernel's flops: fp32, bf16_tensor, ...
-- @column bound text The limit: memory or compute.
-- @column counted text The reason why the counters are empty; empty: the kernel was counted.
SELECT batch, ordinal AS index, layer, position, name, kernel_label(name) AS label, stream, per_inference,
  latency_ns, min_ns, max_ns, flops, dram_read_bytes, dram_write_bytes, occupancy_pct,
  intensity(flops, dram_bytes) AS intensity_flops_per_byte, 1e9 * flops / latency_ns AS arithmetic_flops_per_s,
  pipe, bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound, counted
FROM every_kernel_fact
ORDER BY ordinal, position
