// Window: the second pass. Spans enter in the order of ends, meet their parents, and leave.
//
// Each thread has a stack of the spans that wait for a parent, in the order of ends. A span that
// enters takes as its children the spans on top of the stack that it contains; spans that it only
// overlaps stay. A span leaves when half a window of spans has entered after it. By then every
// ancestor has entered, except the long ones, which are known from the first pass:
//
//   |<------------- window ------------->|
//    kept for late    leaving    entering
//   ------------------|------------------|----> order of ends
//        children     n-window/2         n
//
// A parent is at most a quarter of the window after its child, or else long. A launch that ends
// after its execution is looked up a quarter ahead, so that the launch's parent is known, too.
#ifndef XSP_DESK_CORRELATE_WINDOW_H_
#define XSP_DESK_CORRELATE_WINDOW_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "desk/correlate/correlate.h"
#include "desk/correlate/launches.h"
#include "desk/correlate/long_spans.h"
#include "desk/correlate/merge.h"

namespace xsp::correlate {

class Window {
 public:
  // `options` are complete. `levels` are those of the sites, and must outlive the window.
  Window(const Options& options, const std::vector<uint8_t>& levels, const FirstPass& first_pass,
         ValueSink* values);

  // A run has at most a quarter of the window of spans. Take the spans that have left before the
  // next call.
  Status add(const Run& run);
  // Makes the remaining spans leave.
  void finish();
  // Returns the spans that have left, in the order of ends, valid until the next add(). Returns
  // none when all are taken.
  std::span<const Span> take();
  const Facts& facts() const { return facts_; }

 private:
  struct LongEntry {
    Span span;
    uint64_t number = 0;  // number of its entry; 0: it has not entered
  };
  struct ThreadLong {
    uint64_t id = 0;
    int64_t earliest_start_ns = 0;  // earliest start of this one and those after it
  };
  struct Thread {
    std::vector<uint64_t> waiting;  // numbers; those before `first_waiting` have left
    size_t first_waiting = 0;
    std::vector<uint64_t> recent;  // numbers of host spans that ended within the tolerance
    std::vector<ThreadLong> longs;
    size_t next_long = 0;  // index of the first that has not entered
    int64_t next_long_end_ns = INT64_MAX;
  };
  // Counts the spans of each level in one model span.
  struct ModelSlot {
    uint64_t model_id = 0;
    uint32_t counts[8] = {};
  };

  // Spans are numbered from 1 as they enter. Ids of spans that are not long follow the long ones'.
  Span& at(uint64_t number) { return ring_[number & mask_]; }
  Span* find(uint64_t id);
  Thread* thread(uint32_t id);
  Span& add(const Run& run, size_t row, uint8_t level);
  Span& enter(const Run& run, size_t row, uint8_t level, Thread* state);
  void set_next_long_end(Thread* state);
  static bool is_same(const LongEntry& entry, const Span& span);
  bool is_long(const Span& span) const { return span.id <= longs_.size(); }
  void become_long(Thread* state, Span* span);
  Status add_values(const Run& run, size_t row, Span* span);
  void take_children(Thread* state, Span* span);
  void note_overlap(Span* waiting, Span* span);
  bool find_earlier_parent(Thread* state, Span* span);
  void remember(Thread* state, const Span& span);
  void account(Span* parent, const Span& child);
  void count_clipped(const Span& parent, const Span& child);
  uint64_t find_long_parent(const Span& span);
  void resolve(Span* span);
  void inherit(Span* span, const Span* parent);
  bool inherit_from_launch(Span* span);
  std::vector<uint64_t>& executions_of(const Span& span);
  void wait_for_device_layer(const Span& span);
  void take_executions(const Span& layer);
  bool inherit_from_device_layer(Span* span);
  void leave();
  void stop_waiting(Thread* state);
  void settle(Span* span);
  int32_t next_ordinal(const Span& span);
  void count(const Span& span);
  void keep_for_executions(const Span& span);

  const Options options_;
  const std::vector<uint8_t>& levels_;
  const uint64_t mask_;
  const uint64_t lag_;
  const bool has_given_times_;
  ValueSink* const values_;
  std::vector<Span> ring_;  // the span with number n is at n & mask_
  uint64_t entered_ = 0;    // number of the last span that entered
  uint64_t left_ = 0;
  uint64_t taken_ = 0;
  bool is_finishing_ = false;
  std::unordered_map<uint32_t, Thread> threads_;
  uint32_t last_thread_ = 0;
  Thread* last_thread_state_ = nullptr;
  std::vector<LongEntry> longs_;  // by id - 1
  std::vector<ModelSlot> model_slots_;
  uint32_t model_slot_count_ = 0;
  Launches launches_;
  // For each device and stream: numbers of the executions in the window, in the order of ends.
  std::unordered_map<uint64_t, std::vector<uint64_t>> executions_;
  std::vector<uint64_t> kept_;  // scratch
  std::vector<Span*> chain_;    // scratch
  Facts facts_;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_WINDOW_H_
