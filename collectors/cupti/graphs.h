// CUDA graphs: the layer that was open when a node was captured, and the times of a replay's layers
// on the device.
//
// While a graph is captured its kernels do not run; while it is replayed no layer runs on the host.
// So each node is marked with the layer that was open at its capture (xsp_open_layer). CUDA makes
// copies of a graph, among them the instantiated one; their nodes inherit the mark. A kernel's
// record has the id of its node, which CUPTI never uses twice.
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

// Holds the notes of all nodes. Any thread.
class GraphNotes {
 public:
  // Records of a node may arrive after it was destroyed, so this many destroyed nodes are
  // remembered.
  static constexpr size_t kDestroyedMax = 1u << 18;

  void note(uint64_t node, xsp_layer_mark mark);
  // `copy` is a copy of `original`.
  void copy(uint64_t original, uint64_t copy);
  void destroy(uint64_t node);
  // Returns zeros if no layer was open.
  xsp_layer_mark find(uint64_t node) const;

  // Notes that a node was created on this thread: the call in progress is captured, and executes
  // nothing.
  void capture(uint32_t thread, uint64_t cupti_ns);
  // Returns whether a call was captured. Calls of one thread must be queried in the order of their
  // ends.
  bool is_captured(uint32_t thread, uint64_t start_ns, uint64_t end_ns);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> has_captured_{false};
  std::unordered_map<uint32_t, std::deque<uint64_t>> captured_;  // moments, by thread
  std::unordered_map<uint64_t, xsp_layer_mark> marks_;
  std::deque<uint64_t> destroyed_;
};

// Describes the work of one layer on one stream in one replay.
struct ReplayedLayer {
  xsp_layer_mark mark{};
  uint32_t device = 0;
  uint32_t stream = 0;
  uint64_t correlation_id = 0;  // correlation id of the launch
  uint64_t start_ns = 0;        // start of the first part, on CUPTI's clock
  uint64_t end_ns = 0;          // end of the last part
};

// Collects the work of the nodes of each launch. One thread at a time.
class Replays {
 public:
  // Records of one launch may be spread over several buffers, between those of this many other
  // launches.
  static constexpr size_t kOpenMax = 64;
  using Emit = std::function<void(const ReplayedLayer&)>;

  explicit Replays(Emit emit) : emit_(std::move(emit)) {}
  // Adds an execution of a node that has a mark.
  void add(const ReplayedLayer& part);
  void finish();

 private:
  using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // mark, device, stream
  void close_oldest();

  Emit emit_;
  std::map<uint64_t, std::map<Place, ReplayedLayer>> open_;  // by correlation ids, which ascend
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_GRAPHS_H_
