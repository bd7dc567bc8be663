// A random program that was watched, for tests: SQL that fills an empty evaluation.
#ifndef XSP_ANALYZE_MADE_PROGRAM_H_
#define XSP_ANALYZE_MADE_PROGRAM_H_

#include <string>

namespace xsp::analyze {

// Processes whose threads open spans in spans, launch operations on several streams and wait for
// them; steps that are marked, an optimiser's, or calls of a model; turns of two runs. The host may
// be steps ahead of the device, kernels overlap, times are equal, spans have no length or no end,
// operations no launch. Every sixth was profiled, and some have no device. The same seed gives the
// same.
std::string made_program(unsigned seed);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_MADE_PROGRAM_H_
