// The sequence of kernel launches, from CUPTI's callbacks: ranges of counters have only numbers,
// and launches have names.
//
// Thread rule: callbacks come on any thread and take a lock; one thread calls the other functions.
// A process has one recorder, because CUPTI allows one subscriber.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_LAUNCHES_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_LAUNCHES_H_

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

// Two launches with equal keys do the same work, as far as CUPTI can tell.
struct KernelKey {
  std::string mangled;  // empty for a whole graph
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint32_t shared_bytes = 0;  // dynamic shared memory of the launch
  // From the kernel's code; 0 if it is not known.
  uint32_t registers = 0;
  uint32_t static_shared_bytes = 0;

  auto operator<=>(const KernelKey&) const = default;
  bool is_graph() const { return mangled.empty(); }
};

struct Launch {
  uint32_t kernel = 0;   // index of its key
  const char* api = "";  // the call: "cudaLaunchKernel"
  CUcontext context = nullptr;
  uint32_t device = 0;
  uint32_t stream = 0;
  uint32_t thread = 0;
  uint32_t correlation_id = 0;
  int64_t start_ns = 0;  // start of the call, on xsp_now_ns's clock
  int64_t end_ns = 0;
};

class Launches {
 public:
  explicit Launches(const CountingApi& api) : api_(api) {}
  ~Launches() { unsubscribe(); }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  // Starts to record launches. Returns false and a line in *why if another client uses CUPTI.
  bool subscribe(std::string* why);
  void unsubscribe();

  // Returns the launches since the last call, in the order in which they returned.
  std::vector<Launch> take();
  // Returns the number of launches since the last call of take.
  size_t count() const;
  // Returns the contexts that have launched something, or were created, and still exist.
  std::vector<CUcontext> contexts() const;
  const KernelKey& key(uint32_t kernel) const;

 private:
  static void on_event(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const void* data);
  void on_driver(CUpti_CallbackId id, const CUpti_CallbackData& data);
  void on_runtime(const CUpti_CallbackData& data);
  void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data);
  uint32_t intern(KernelKey key);
  void describe(CUfunction function, KernelKey* key) const;

  const CountingApi& api_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<Launch> launches_;
  std::map<KernelKey, uint32_t> indices_;
  std::vector<const KernelKey*> keys_;  // into indices_
  std::set<CUcontext> contexts_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_LAUNCHES_H_
