-- @id a8
-- @name kernel_information
-- @title Kernel information
-- @question Which kernels does an inference run, in which layers, and what does each cost?
-- One row for each kernel of an inference, in the order of execution. Durations come from the run that recorded
-- kernels without counting; counters from the runs that counted, found by the layer and the kernel's position
-- in it: where those ran another kernel there, none are shown, and `counted` says so. Copies and memory sets are no
-- kernels. Throughput is flops / duration; a kernel is memory-bound if its arithmetic intensity is below that at
-- which the ceilings of its pipe and of the memory meet.
-- @needs kernel
-- @param batch integer - The batch size; by default the smallest that was measured.
-- @param peaks text measured Which ceilings: measured or attribute (of the device); the other where there is none.
-- @view table caption=batch columns=index,layer,label,latency_ns,flops,dram_read_bytes,dram_write_bytes
-- @view table columns=occupancy_pct,bound by=latency_ns top=20
-- @column batch count Inputs per inference.
-- @column index count Position in the order of execution, from 0.
-- @column layer text The innermost layer that launched it; empty: none.
-- @column position count Its position among the layer's kernels, from 0.
-- @column name text Its name.
-- @column label text Its name without return type, arguments and template.
-- @column stream count The stream it ran on.
-- @column per_inference number Executions in one inference.
-- @column latency_ns ns Trimmed mean of its duration, times the executions in one inference.
-- @column min_ns ns The shortest execution.
-- @column max_ns ns The longest execution.
-- @column flops flops Floating-point operations in one inference.
-- @column dram_read_bytes bytes Read from the device's memory.
-- @column dram_write_bytes bytes Written to the device's memory.
-- @column occupancy_pct pct Achieved occupancy.
-- @column intensity_flops_per_byte flops_per_byte Arithmetic intensity.
-- @column arithmetic_flops_per_s flops_per_s Flops / duration.
-- @column pipe text Where it does most of its flops: fp32, bf16_tensor, ...
-- @column bound text memory or compute.
-- @column counted text Why the counters are empty; empty: they are not.
SELECT batch, ordinal AS index, layer, position, name, kernel_label(name) AS label, stream, per_inference,
  latency_ns, min_ns, max_ns, flops, dram_read_bytes, dram_write_bytes, occupancy_pct,
  intensity(flops, dram_bytes) AS intensity_flops_per_byte, 1e9 * flops / latency_ns AS arithmetic_flops_per_s,
  pipe, bound_by(flops, dram_bytes, peak_flops, peak_bytes) AS bound, counted
FROM kernel_facts([chosen_batch(6, CAST($batch AS INTEGER))], $peaks)
ORDER BY ordinal, position
