// processor_clock_mhz(): how fast the processor runs now.
//
// The system tells the clock only on some machines, and counting cycles needs rights that few users
// have. But a chain of instructions that each need the result before takes one clock cycle for
// each, on every x86-64 and ARM processor of today, so its time tells the clock. The time of a
// short chain is subtracted, because reading the time takes time, too. Another thread on the same
// core does not slow such a chain down. A call takes about two microseconds.
#ifndef XSP_PROCESS_LOAD_PROCESSOR_CLOCK_H_
#define XSP_PROCESS_LOAD_PROCESSOR_CLOCK_H_

#include <cstdint>

namespace xsp::process {

// Returns the clock of the processor that the calling thread runs on; -1: not known on this
// architecture, or the thread was interrupted.
int64_t processor_clock_mhz();

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_PROCESSOR_CLOCK_H_
