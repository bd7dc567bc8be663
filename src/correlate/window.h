// Window: the second pass. Spans enter in the order of ends, meet their parents, and leave.
//
// Per thread there is a stack of the spans that wait for a parent, in the order of ends. A span
// that enters takes as its children those on the top of the stack that it holds; what it overlaps
// without holding it stays. A span leaves when half a window of spans has entered after it. By then
// every ancestor has entered, but for the long ones, which are known from the first pass:
//
//   |<------------- window ------------->|
//    kept for late    leaving    entering
//   ------------------|------------------|----> order of ends
//        children     id-window/2       id
//
// A parent is at most a quarter of the window after its child, or else long; a launch that ends
// after its execution is looked for a quarter ahead, so that the launch's parent is known, too.
#ifndef XSP_CORRELATE_WINDOW_H_
#define XSP_CORRELATE_WINDOW_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "correlate/correlate.h"
#include "correlate/launches.h"
#include "correlate/long_spans.h"
#include "correlate/merge.h"

namespace xsp::correlate {

class Window {
 public:
  // `levels` are those of the sites, and must outlive it.
  Window(const Options& options, const std::vector<uint8_t>& levels, const LongSpans& long_spans,
         Sink* sink);

  Status add(const Run& run);
  // The last spans leave.
  Status finish();
  const Facts& facts() const { return facts_; }

 private:
  struct Thread;
  struct Node : Extent {
    uint64_t id = 0;
    uint64_t parent_id = 0;
    uint64_t model_id = 0;
    uint64_t layer_id = 0;
    uint64_t model_slot = 0;
    uint64_t correlation_id = 0;
    int64_t iteration = kNoIteration;
    int64_t covered_ns = 0;             // by children
    int64_t covered_until = INT64_MIN;  // the latest end of a child
    Thread* thread_state = nullptr;
    uint32_t site = 0;
    uint32_t thread = 0;
    uint32_t device = 0;
    uint32_t stream = 0;
    uint32_t same_level_inside = 0;  // descendants at the span's own level
    uint32_t depth = 0;
    bool is_open = false;
    bool is_attached = false;  // its parent has accounted for it
    bool is_resolved = false;  // its ancestors are known
    bool is_ambiguous = false;
  };
  struct LongEntry {
    Extent extent;
    uint64_t id = 0;
    int64_t earliest_start_ns = 0;  // of this one and those after it
  };
  struct Thread {
    std::vector<uint64_t> waiting;  // ids; those before `first_waiting` have left
    size_t first_waiting = 0;
    std::vector<uint64_t> recent;  // ids of host spans that ended within the tolerance
    std::vector<LongEntry> longs;
    size_t next_long = 0;  // the first that has not entered
    bool has_given_times = false;
  };
  // Counts the spans of each level in one model span.
  struct ModelSlot {
    uint64_t model_id = 0;
    uint32_t counts[8] = {};
  };

  Thread* thread(uint32_t id);
  Node* find(uint64_t id);
  Status add(const Run& run, size_t row, uint8_t level);
  Node& enter(const Run& run, size_t row, uint8_t level, Thread* state);
  Status add_values(const Run& run, size_t row, Node* node);
  void take_children(Thread* state, Node* node);
  void note_overlap(Node* waiting, Node* node);
  bool find_earlier_parent(Thread* state, Node* node);
  void remember(Thread* state, const Node& node);
  void account(Node* parent, const Node& child);
  void count_clipped(const Extent& parent, const Extent& child);
  uint64_t find_long_parent(const Node& node);
  void resolve(Node* node);
  void inherit(Node* node, const Node* parent);
  bool inherit_from_launch(Node* node);
  Status leave(Node* node);
  int64_t next_ordinal(const Node& node);
  void count(const Node& node);
  Status flush();

  const Options options_;
  const std::vector<uint8_t>& levels_;
  const uint64_t mask_;
  const uint64_t lag_;
  Sink* const sink_;
  std::vector<Node> ring_;  // the span with id i is at i & mask_
  uint64_t entered_ = 0;    // id of the last span that entered
  uint64_t left_ = 0;
  bool is_finishing_ = false;
  std::unordered_map<uint32_t, Thread> threads_;
  uint32_t last_thread_ = 0;
  Thread* last_thread_state_ = nullptr;
  std::unordered_map<uint64_t, Node> longs_;  // that have not entered, by id
  std::vector<ModelSlot> model_slots_;
  uint64_t model_slot_count_ = 0;
  Launches launches_;
  std::vector<uint64_t> kept_;  // scratch
  std::vector<Node*> chain_;    // scratch
  std::vector<Span> out_;
  Facts facts_;
};

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_WINDOW_H_
