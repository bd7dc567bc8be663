// Emits the layers of the runtime's profile as spans.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_EMIT_H_
#define XSP_ADAPTERS_ONNXRUNTIME_EMIT_H_

#include <cstdint>
#include <vector>

#include "adapters/onnxruntime/layers.h"
#include "adapters/onnxruntime/profile.h"

namespace xsp::ort {

// Holds the time of a run, to which its layers are clipped.
struct Window {
  int64_t start_ns;
  int64_t end_ns;
};

// Emits the layers of each run of the profile, which began at `profile_start_ns`. Counts as lost
// the runs that the runtime's limit of events cut short.
void emit_profile(ProfileReader* reader, int64_t profile_start_ns,
                  const std::vector<Window>& windows, Layers* layers);

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_EMIT_H_
