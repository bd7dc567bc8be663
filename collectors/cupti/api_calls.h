// Selects the recorded calls of CUDA's runtime and driver: those that give work to the device, take
// memory, or wait. Recording the many small calls (cudaGetDevice and similar ones) would cost more
// than it is worth.
//
// The names come from the table that CUPTI itself gives, because numbers would be those of one CUDA
// version. A driver's call within a runtime's is left out. Captures for a graph, failed calls and
// copies of no bytes do not count as launches, so every launch in a trace has its execution.
#ifndef XSP_COLLECTORS_CUPTI_API_CALLS_H_
#define XSP_COLLECTORS_CUPTI_API_CALLS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collectors/cupti/library.h"

namespace xsp::cupti {

// Returns the type of the call's spans: launch, graph_launch, copy, memset, allocation,
// synchronization or overhead. Returns null if the call is not recorded. `name` is in the form that
// plain_name returns.
const char* call_type(std::string_view name);
// Returns whether calls of this type have executions on the device.
bool is_executed(const char* type);
// Returns CUPTI's name of a call without its version and variant: "cudaLaunchKernel" for
// "cudaLaunchKernel_ptsz_v7000".
std::string plain_name(std::string_view name);

struct Call {
  const char* type = nullptr;  // null: not recorded
  std::string name;
  uint32_t site = 0;  // created when the call is first seen
  bool is_executed = false;
  bool may_be_empty = false;  // a copy of no bytes executes nothing
  bool is_allocation = false;
};

// Holds the recorded calls of one domain, runtime or driver.
//
// Thread rule: one thread at a time may call `seen`; the other functions must not run concurrently
// with each other.
class Calls {
 public:
  // Asks the library for the names of its calls.
  Calls(const Library& library, CUpti_CallbackDomain domain);
  // Enables the records of these calls: one by one if the library can, else those of all calls.
  CUptiResult enable() const;
  void disable() const;
  // Returns the call of a record, with its site, or null if it is not recorded.
  const Call* seen(CUpti_CallbackId id);

 private:
  using EnableOne = decltype(Functions::cuptiActivityEnableRuntimeApi);

  const Library& library_;
  EnableOne enable_one_;  // null if this library lacks it
  CUpti_ActivityKind kind_;
  std::vector<Call> calls_;  // by id
};

// Describes one recorded call.
struct CallRecord {
  uint32_t site = 0;
  bool is_executed = false;
  bool may_be_empty = false;
  bool is_allocation = false;
  bool is_driver = false;
  uint32_t thread = 0;
  uint32_t correlation_id = 0;
  uint32_t error = 0;
  uint64_t start_ns = 0;  // on CUPTI's clock
  uint64_t end_ns = 0;
};

// The runtime implements its calls by the driver's, so that a launch through the runtime is
// recorded twice. This class holds the driver's calls back until it is known whether a call of the
// runtime contains them.
//
// Records of one thread arrive in the order of their ends.
class Nesting {
 public:
  // Driver calls that are held back per thread. A call of the runtime contains fewer.
  static constexpr size_t kKeptMax = 256;

  // Appends the calls to *outermost that are now known to come from the program itself.
  void add(const CallRecord& call, std::vector<CallRecord>* outermost);
  // Appends all calls that are still held back.
  void finish(std::vector<CallRecord>* outermost);

 private:
  std::map<uint32_t, std::vector<CallRecord>> kept_;  // by thread
};

// Finds the copies and memsets that execute nothing, such as those of no bytes. A call waits for
// its execution; either may be recorded first.
class Executions {
 public:
  static constexpr size_t kWaitingMax = 16384;
  static constexpr size_t kRememberedMax = 16384;

  // Records that a copy or memset was executed. Appends the call that waited for it.
  void add_execution(uint32_t correlation_id, std::vector<CallRecord>* settled);
  // Appends the call if its execution is known, and the calls that have waited for too long: they
  // will not be executed any more.
  void add_call(const CallRecord& call, std::vector<CallRecord>* settled);
  // Appends the calls that still wait: they are not executed.
  void finish(std::vector<CallRecord>* settled);

 private:
  std::unordered_map<uint32_t, CallRecord> waiting_;  // by correlation id
  std::deque<uint32_t> order_;                        // in order of arrival
  std::unordered_set<uint32_t> executed_;
  std::deque<uint32_t> executed_order_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_API_CALLS_H_
