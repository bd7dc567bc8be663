// CUDA graphs: the layer that was open when a node was captured, and the times of a replay's layers
// on the device.
//
// While a graph is captured its kernels do not run; while it is replayed no layer runs on the host.
// So each node is marked with the layer that was open at its capture (xsp_open_layer). CUDA makes
// copies of a graph, among them the instantiated one; their nodes inherit the mark. A kernel's
// record has the id of its node, which CUPTI never uses twice: the graph's number, and the node's
// number in the graph.
//
// A node may contain a whole graph, as XLA's does that calls a library. While CUDA instantiates a
// graph, it replaces each such node by the nodes inside, and CUPTI says nothing of these. As CUPTI
// 13.0 numbers them, they follow the graph's last node, in the order in which the nodes that
// contained them were destroyed.
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
#include <vector>

#include "xsp/plugin.h"

namespace xsp::cupti {

// Holds the notes of all nodes. Any thread.
class GraphNotes {
 public:
  // Records of a node may arrive after it was destroyed, so this many destroyed nodes are
  // remembered.
  static constexpr size_t kDestroyedMax = 1u << 18;

  // CUPTI tells each of these on the thread that calls CUDA.
  void create(uint64_t node, xsp_layer_mark mark, uint32_t thread);
  // `copy`, which was created just before, is a copy of `original`.
  void copy(uint64_t original, uint64_t copy, uint32_t thread);
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
  // Describes a graph that is copied: it may become the inside of the node that is created next.
  struct Copied {
    uint32_t graph = 0;
    std::vector<xsp_layer_mark> marks;  // those of its nodes, in their order; zeros for none
    bool is_nested = false;             // a node of it contains a graph, too
  };
  // Describes the nodes of a graph.
  struct Nodes {
    uint32_t next = 0;  // number of the node that is created next
    uint32_t alive = 0;
    bool is_known = true;  // which nodes CUDA puts in the place of others
  };
  static uint32_t graph_of(uint64_t node) { return static_cast<uint32_t>(node >> 32); }
  void replace(uint64_t node, const Copied& inside);

  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Copied> copied_;        // by thread
  std::unordered_map<uint64_t, Copied> inside_;        // by the node that contains it
  std::unordered_map<uint64_t, Copied> instantiated_;  // likewise, of copies of such nodes
  std::unordered_map<uint32_t, Nodes> graphs_;
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
