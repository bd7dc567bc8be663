// Emits launches and their counters as spans: a span of the level api for the call, and one of the
// level kernel for its execution.
//
// A counted kernel runs many times, and its time in an undisturbed run is unknown. Its span begins
// with its launch, or with the end of the previous kernel on its stream, and lasts as long as the
// measured execution. So the order is right, and the times only serve to find layers.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_EMIT_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_EMIT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectors/cupti/counting_launches.h"
#include "collectors/cupti/names.h"
#include "xsp/xsp.h"

namespace xsp::cupti {

// Holds the counters of one launch, in the order of the counters' names.
struct Counted {
  const std::vector<double>* values = nullptr;  // null: not counted
  double duration_ns = 0;
  bool is_reused = false;
};

class CountingEmitter {
 public:
  CountingEmitter(uint32_t levels, const std::vector<std::string>& counters, KernelSites* sites);
  // Emits the launches of one inference, in order, with the counters of each.
  void emit(const Launches& names, const std::vector<Launch>& launches,
            const std::vector<Counted>& counted);

 private:
  void emit_call(const Launch& launch, bool is_graph);
  void emit_kernel(const KernelKey& key, const Launch& launch, const Counted& counted);

  uint32_t levels_;
  KernelSites* sites_;
  std::vector<uint32_t> keys_;  // keys of the counters
  uint32_t reused_key_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> busy_until_ns_;  // by device and stream
  std::map<std::pair<const char*, bool>, uint32_t> call_sites_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_EMIT_H_
