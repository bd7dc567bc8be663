// Which calls of CUDA's runtime and driver are recorded: those that make the device do something,
// take memory, or wait. The many small ones (cudaGetDevice and the like) would cost more than they
// tell.
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

// The type of the call's spans: launch, graph_launch, copy, memset, allocation, synchronization or
// overhead. Null: the call is not recorded. `name` as plain_name gives it.
const char* call_type(std::string_view name);
// Whether calls of a type have executions on the device.
bool is_executed(const char* type);
// CUPTI's name of a call without its version and variant: "cudaLaunchKernel" of
// "cudaLaunchKernel_ptsz_v7000".
std::string plain_name(std::string_view name);

struct Call {
  const char* type = nullptr;  // null: not recorded
  std::string name;
  uint32_t site = 0;  // made when the call is first seen
  bool is_executed = false;
  bool may_be_empty = false;  // a copy of no bytes executes nothing
  bool is_allocation = false;
};

// The calls of one domain, runtime or driver, that are recorded.
//
// Thread rule: `seen` on one thread at a time, the others never at the same time as each other.
class Calls {
 public:
  // Asks the library for the names of its calls.
  Calls(const Library& library, CUpti_CallbackDomain domain);
  // Switches their records on, one by one where the library can, else every call's.
  CUptiResult enable() const;
  void disable() const;
  // The call of a record, with its site; null if it is not to be recorded.
  const Call* seen(CUpti_CallbackId id);

 private:
  using EnableOne = decltype(Functions::cuptiActivityEnableRuntimeApi);

  const Library& library_;
  EnableOne enable_one_;  // null: not in this library
  CUpti_ActivityKind kind_;
  std::vector<Call> calls_;  // by id
};

// A call that has been recorded.
struct CallRecord {
  uint32_t site = 0;
  bool is_executed = false;
  bool may_be_empty = false;
  bool is_allocation = false;
  bool is_driver = false;
  uint32_t thread = 0;
  uint32_t correlation_id = 0;
  uint32_t error = 0;
  uint64_t start_ns = 0;  // of CUPTI's clock
  uint64_t end_ns = 0;
};

// The runtime's calls are made of the driver's: a launch through the runtime is recorded twice.
// This keeps the driver's calls back until it is known whether the runtime's call holds them.
//
// Records of one thread come in the order of their ends.
class Nesting {
 public:
  // How many calls of the driver are kept back per thread; a call of the runtime holds fewer.
  static constexpr size_t kKeptMax = 256;

  // Appends to *outermost what is known now to be called by the program itself.
  void add(const CallRecord& call, std::vector<CallRecord>* outermost);
  // All that is still kept back.
  void finish(std::vector<CallRecord>* outermost);

 private:
  std::map<uint32_t, std::vector<CallRecord>> kept_;  // by thread
};

// Finds the copies and memsets that execute nothing, as those of no bytes do: calls wait for their
// execution, whichever is recorded first.
class Executions {
 public:
  static constexpr size_t kWaitingMax = 16384;
  static constexpr size_t kRememberedMax = 16384;

  // A copy or memset has been executed. Appends the call that waited for it.
  void add_execution(uint32_t correlation_id, std::vector<CallRecord>* settled);
  // Appends the call if its execution is known, and calls that have waited for too long, which are
  // not executed any more.
  void add_call(const CallRecord& call, std::vector<CallRecord>* settled);
  // Those that still wait: they are not executed.
  void finish(std::vector<CallRecord>* settled);

 private:
  std::unordered_map<uint32_t, CallRecord> waiting_;  // by correlation id
  std::deque<uint32_t> order_;                        // in which they came
  std::unordered_set<uint32_t> executed_;
  std::deque<uint32_t> executed_order_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_API_CALLS_H_
