// CUDA graphs: which layer was open when a node was captured, and when the layers of a replay ran
// on the device.
//
// While a graph is captured its kernels do not run; when it is replayed no layer runs on the host.
// So each node is noted with the layer that was open at its capture (xsp_open_layer). The copies
// that CUDA makes of a graph, the one that it instantiates among them, have nodes of their own,
// which inherit the note. A kernel's record has its node's id, which CUPTI never gives twice.
#ifndef XSP_COLLECTORS_CUPTI_GRAPHS_H_
#define XSP_COLLECTORS_CUPTI_GRAPHS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "xsp/plugin.h"

namespace xsp::cupti {

// Any thread.
class GraphNotes {
 public:
  // Records of a node may come after it was destroyed: so many more are remembered.
  static constexpr size_t kDestroyedMax = 1u << 18;

  void note(uint64_t node, xsp_layer_mark mark);
  // `copy` is a copy of `original`.
  void copy(uint64_t original, uint64_t copy);
  void destroy(uint64_t node);
  // Zeros if no layer was open.
  xsp_layer_mark find(uint64_t node) const;

  // A node was made on this thread: the call under way is captured, and executes nothing.
  void capture(uint32_t thread, uint64_t cupti_ns);
  // Whether a call was captured. Calls of one thread are asked for in the order of their ends.
  bool is_captured(uint32_t thread, uint64_t start_ns, uint64_t end_ns);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> has_captured_{false};
  std::unordered_map<uint32_t, std::deque<uint64_t>> captured_;  // moments, by thread
  std::unordered_map<uint64_t, xsp_layer_mark> marks_;
  std::deque<uint64_t> destroyed_;
};

// What one layer did on one stream in one replay.
struct ReplayedLayer {
  xsp_layer_mark mark{};
  uint32_t device = 0;
  uint32_t stream = 0;
  uint64_t correlation_id = 0;  // of the launch
  uint64_t start_ns = 0;        // of the first, on CUPTI's clock
  uint64_t end_ns = 0;          // of the last
};

// Gathers what the nodes of each launch did. One thread at a time.
class Replays {
 public:
  // Records of one launch may be spread over several buffers, among those of so many others.
  static constexpr size_t kOpenMax = 64;
  using Emit = std::function<void(const ReplayedLayer&)>;

  explicit Replays(Emit emit) : emit_(std::move(emit)) {}
  // Something that ran for a node with a mark.
  void add(const ReplayedLayer& part);
  void finish();

 private:
  using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // mark, device, stream
  void close_oldest();

  Emit emit_;
  std::map<uint64_t, std::map<Place, ReplayedLayer>> open_;  // by correlation id, which ascend
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_GRAPHS_H_
