// Steps: finds the iterations of a program that does not mark its inferences, from one trace.
//
// The recording writes spans of the type "step" at each sign of a step (xsp.h): marks of the
// program's own, an optimiser's steps, outermost calls of a model. find_steps() uses the strongest
// of these kinds. In a trace without any, the outermost spans of the level model are the steps.
#ifndef XSP_DESK_CORRELATE_STEPS_H_
#define XSP_DESK_CORRELATE_STEPS_H_

#include <cstdint>
#include <vector>

#include "shared/base/result.h"
#include "shared/trace/reader.h"

namespace xsp::correlate {

struct Step {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// An outermost span of the level model on its thread: an inference.
struct ModelCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  // The number from the trace. If a call has no number, or two have the same, all calls are counted
  // from 0, in the order of their starts.
  int64_t iteration = 0;
};

struct TraceSteps {
  uint32_t kind = 0;             // XSP_STEP_*; 0: no step spans
  std::vector<Step> steps;       // in the order of their starts
  std::vector<ModelCall> calls;  // in the order of their starts
  uint32_t levels = 0;           // bits of the levels of all spans
};

// Reads the whole trace once. Skips damaged chunks.
TraceSteps find_steps(const trace::Reader& reader);

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_STEPS_H_
