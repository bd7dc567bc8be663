// Turns CUPTI's records into spans.
//
// Thread rule: `consume` and `finish` run on one thread at a time, the thread whose ring receives
// the spans.
#ifndef XSP_COLLECTORS_CUPTI_RECORDS_H_
#define XSP_COLLECTORS_CUPTI_RECORDS_H_

#include <cupti.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/clocks.h"
#include "collectors/cupti/graphs.h"
#include "collectors/cupti/library.h"
#include "collectors/cupti/memory.h"
#include "collectors/cupti/names.h"
#include "xsp/xsp.h"

namespace xsp::cupti {

class Records {
 public:
  using LimitsOf = std::function<DeviceLimits(uint32_t device)>;
  // All arguments outlive this object. `has_executions` tells whether the level kernel is recorded.
  Records(const Library& library, GraphNotes& notes, Calls& runtime, Calls& driver,
          LimitsOf limits_of, bool has_executions);
  // Reads the clocks, then emits the records of a buffer; some of them only when later records are
  // known.
  void consume(uint8_t* buffer, size_t size);
  // Emits the rest.
  void finish();
  // Reads the clocks.
  bool sample_clocks() { return clocks_.sample(library_.call()); }
  // Calls are not recorded from now on, for a while. Any thread may call this.
  void pause_calls();

 private:
  // Holds the fields that all executions have.
  struct Execution {
    uint32_t site = 0;
    uint32_t device = 0;
    uint32_t stream = 0;
    uint32_t correlation_id = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t graph_node = 0;
    uint64_t bytes = 0;
    bool has_bytes = false;
  };
  struct Keys {
    uint32_t bytes, allocated_bytes, pool, error;
  };

  void convert(const CUpti_Activity& record);
  void convert_kernel(const CUpti_ActivityKernel9& record);
  template <typename Copy>
  void convert_copy(const Copy& record);
  void convert_set(const CUpti_ActivityMemset4& record);
  void convert_call(const CUpti_ActivityAPI& record);
  void convert_overhead(const CUpti_ActivityOverhead& record);
  void emit_execution(const Execution& execution);
  // Finds the calls that come from the program itself.
  void settle_calls();
  void emit_calls();
  void emit_memory(const MemoryEvent& event, uint32_t thread);
  void emit_layer(const ReplayedLayer& layer);
  void emit(xsp_complete_span* span, uint64_t start_ns, uint64_t end_ns);
  uint32_t copy_site(const char* direction, uint8_t source, uint8_t destination);

  const Library& library_;
  GraphNotes& notes_;
  Calls& runtime_;
  Calls& driver_;
  const Keys keys_;
  Clocks clocks_;
  KernelSites kernels_;
  Replays replays_;
  Nesting nesting_;
  Executions executions_;
  Memory memory_;
  Callers callers_;
  std::deque<MemoryEvent> waiting_;    // these wait for the thread of their call
  std::vector<CallRecord> outermost_;  // the program's own calls, not examined yet
  std::vector<CallRecord> settled_;    // calls to be emitted
  const bool has_executions_;
  std::map<std::pair<std::string, std::string>, uint32_t> copies_;  // sites
  size_t emitted_ = 0;                                              // spans since the last flush
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_RECORDS_H_
