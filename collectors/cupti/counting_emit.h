// Launches and their counters as spans: a call of the level api, and what it executed of the level
// kernel.
//
// A kernel that is counted runs many times over, and nothing says when it would have run: its span
// begins with its launch, or with the end of the one before it on its stream, and lasts as long as
// its execution was measured to. The order is right, the times are for finding layers by.
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

// What is known of one launch; values are in the order of the counters' names.
struct Counted {
  const std::vector<double>* values = nullptr;  // null: not counted
  double duration_ns = 0;
  bool is_reused = false;
};

class CountingEmitter {
 public:
  CountingEmitter(uint32_t levels, const std::vector<std::string>& counters, KernelSites* sites);
  // The launches of one inference, in order, with what was counted of each.
  void emit(const Launches& names, const std::vector<Launch>& launches,
            const std::vector<Counted>& counted);

 private:
  void emit_call(const Launch& launch, bool is_graph);
  void emit_kernel(const KernelKey& key, const Launch& launch, const Counted& counted);

  uint32_t levels_;
  KernelSites* sites_;
  std::vector<uint32_t> keys_;  // of the counters
  uint32_t reused_key_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> busy_until_ns_;  // by device and stream
  std::map<std::pair<const char*, bool>, uint32_t> call_sites_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_EMIT_H_
