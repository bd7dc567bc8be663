// Steps: the iterations of a program that nobody marked, from one trace.
//
// The recording writes spans of the type "step" as it meets what tells of them (xsp.h): marks of
// the program's own, an optimiser's steps, outermost calls of a model. Here the strongest of these
// kinds is taken, and where a trace has none, the outermost spans of the level model are its steps.
#ifndef XSP_CORRELATE_STEPS_H_
#define XSP_CORRELATE_STEPS_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "trace/reader.h"

namespace xsp::correlate {

struct Step {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// An outermost span of the level model, on its thread: an inference.
struct ModelCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  // Its number, as the trace has it; where one of its calls has none, or has that of another, they
  // are counted from 0, in the order of their starts.
  int64_t iteration = 0;
};

struct TraceSteps {
  uint32_t kind = 0;             // XSP_STEP_*; 0: there are none
  std::vector<Step> steps;       // in the order of their starts
  std::vector<ModelCall> calls;  // likewise
  uint32_t levels = 0;           // bits of those that any span is of
};

// Reads the whole trace once. Damaged chunks are passed over.
TraceSteps find_steps(const trace::Reader& reader);

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_STEPS_H_
