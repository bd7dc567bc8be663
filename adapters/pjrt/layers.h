// Layers: the instructions of HLO, with their facts from the program. This file handles them as the
// device executed them, by XLA's profiler: a layer lasts from the start of the first to the end of
// the last kernel that an instruction has in a row on a stream. adapters/pjrt/ranges.h handles them
// as the host launched them.
#ifndef XSP_ADAPTERS_PJRT_LAYERS_H_
#define XSP_ADAPTERS_PJRT_LAYERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/pjrt/profiler.h"
#include "adapters/pjrt/program.h"

namespace xsp::pjrt {

// Describes a recorded run, to which its layers are clipped.
struct Run {
  int64_t start_ns;  // UNIX time
  int64_t end_ns;
  uint32_t thread;  // the calling thread
};

class Layers {
 public:
  explicit Layers(Program program) : program_(std::move(program)) {}

  const Program& program() const { return program_; }
  // Emits the layers of runs, in order. `profile_start_ns` is when the profiler was started. Events
  // outside of all runs are left out.
  void emit(const std::vector<Run>& runs, std::vector<DeviceEvent> events,
            int64_t profile_start_ns);
  // Returns the instruction's site, with its facts; one thread at a time.
  uint32_t site(std::string_view name);
  // Returns the site of an instruction of the program, or 0 for a command buffer: it contains
  // instructions, but is none.
  uint32_t site_of_instruction(std::string_view name);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  Program program_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> sites_;
};

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_LAYERS_H_
