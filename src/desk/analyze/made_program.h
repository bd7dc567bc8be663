// Makes a random watched program for tests: SQL that fills an empty evaluation.
#ifndef XSP_DESK_ANALYZE_MADE_PROGRAM_H_
#define XSP_DESK_ANALYZE_MADE_PROGRAM_H_

#include <string>

namespace xsp::analyze {

// Returns processes whose threads nest spans, launch operations on several streams and wait for
// them. Steps are marked, those of an optimiser, or calls of a model. Two runs take turns. The host
// may be steps ahead of the device, kernels overlap, times are equal, some spans have no length or
// no end, some operations no launch. Every sixth seed is a profiled model, and some have no device.
// The same seed gives the same result.
std::string made_program(unsigned seed);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_MADE_PROGRAM_H_
