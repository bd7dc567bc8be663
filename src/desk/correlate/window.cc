#include "desk/correlate/window.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::correlate {

namespace {

// A span that overlaps this many without containing them looks no further. Real traces have few.
constexpr size_t kOverlapMax = 1024;

bool is_device_layer(const Span& span) {
  return span.on_device && span.level == XSP_LEVEL_LAYER && span.correlation_id != 0;
}

}  // namespace

Window::Window(const Options& options, const std::vector<uint8_t>& levels,
               const FirstPass& first_pass, ValueSink* values)
    : options_(options),
      levels_(levels),
      mask_(options.window - 1),
      lag_(options.window / 2),
      has_given_times_(first_pass.has_given_times),
      values_(values),
      ring_(options.window),
      longs_(first_pass.long_spans.size()),
      model_slots_(2 * options.window) {
  for (size_t i = 0; i < longs_.size(); ++i) {
    const LongSpan& known = first_pass.long_spans[i];
    Span& span = longs_[i].span;
    span.id = i + 1;
    span.start_ns = known.extent.start_ns;
    span.end_ns = known.extent.end_ns;
    span.level = known.extent.level;
    span.given_times = known.extent.given_times;
    span.site = known.site;
    span.thread = known.thread;
    span.iteration = known.iteration;
    Thread* state = thread(known.thread);
    span.thread_state = state;
    state->longs.push_back({span.id, span.start_ns});
  }
  for (auto& [id, state] : threads_) {
    for (size_t i = state.longs.size() - 1; i-- > 0;) {
      ThreadLong& entry = state.longs[i];
      entry.earliest_start_ns =
          std::min(entry.earliest_start_ns, state.longs[i + 1].earliest_start_ns);
    }
    set_next_long_end(&state);
  }
}

// Returns a thread's state, which all its lanes share.
Window::Thread* Window::thread(uint32_t id) {
  id = without_lane(id);
  if (last_thread_state_ == nullptr || last_thread_ != id) {
    last_thread_ = id;
    last_thread_state_ = &threads_[id];
  }
  return last_thread_state_;
}

// Returns a span in the window, or a long one that has not entered; nullptr: it has gone.
Span* Window::find(uint64_t id) {
  uint64_t number = id - longs_.size();
  if (id <= longs_.size()) {
    LongEntry& entry = longs_[id - 1];
    if (entry.number == 0) return &entry.span;
    number = entry.number;
  }
  Span& span = at(number);
  return number <= entered_ && span.id == id ? &span : nullptr;
}

inline Span& Window::enter(const Run& run, size_t row, uint8_t level, Thread* state) {
  Span& span = at(++entered_);
  const trace::SpanBatch& batch = *run.batch;
  span.id = entered_ + longs_.size();
  span.parent_id = 0;
  span.model_id = 0;
  span.layer_id = 0;
  span.self_ns = 0;
  span.iteration = kNoIteration;
  span.depth = 0;
  span.is_attached = false;
  span.is_resolved = false;
  span.is_ambiguous = false;
  span.is_in_device_layer = false;
  span.model_slot = 0;
  span.same_level_inside = 0;
  span.covered_until = INT64_MIN;
  span.start_ns = batch.start_ns[row];
  span.end_ns = batch.end_ns[row];
  span.correlation_id = batch.correlation_id[row];
  span.site = batch.site[row];
  span.thread = batch.thread[row];
  span.device = batch.device[row];
  span.stream = batch.stream[row];
  span.level = level;
  span.is_open = run.is_open;
  span.given_times = run.given_times;
  span.on_device = is_on_device(level, batch.device[row]);
  span.thread_state = state;
  if (span.end_ns >= state->next_long_end_ns) become_long(state, &span);
  return span;
}

void Window::set_next_long_end(Thread* state) {
  state->next_long_end_ns = state->next_long < state->longs.size()
                                ? longs_[state->longs[state->next_long].id - 1].span.end_ns
                                : INT64_MAX;
}

bool Window::is_same(const LongEntry& entry, const Span& span) {
  return entry.number == 0 && entry.span.end_ns == span.end_ns &&
         entry.span.start_ns == span.start_ns && entry.span.site == span.site &&
         entry.span.thread == span.thread && entry.span.given_times == span.given_times &&
         !span.on_device;
}

// If `span` is the thread's next long span, copies what its earlier children have added to it.
void Window::become_long(Thread* state, Span* span) {
  std::vector<ThreadLong>& longs = state->longs;
  size_t i = state->next_long;
  while (i < longs.size() && !is_same(longs_[longs[i].id - 1], *span)) {
    if (longs_[longs[i].id - 1].span.end_ns > span->end_ns) return;
    ++i;  // another span with an equal end, or one that is no longer in the trace
  }
  if (i == longs.size()) return;
  LongEntry& entry = longs_[longs[i].id - 1];
  entry.number = entered_;
  while (state->next_long < longs.size() &&
         (longs_[longs[state->next_long].id - 1].number != 0 ||
          longs_[longs[state->next_long].id - 1].span.end_ns < span->end_ns)) {
    ++state->next_long;
  }
  set_next_long_end(state);
  const Span& known = entry.span;
  span->id = known.id;
  span->parent_id = known.parent_id;
  span->model_id = known.model_id;
  span->layer_id = known.layer_id;
  span->self_ns = known.self_ns;
  span->iteration = known.iteration;
  span->depth = known.depth;
  span->is_resolved = known.is_resolved;
  span->model_slot = known.model_slot;
  span->same_level_inside = known.same_level_inside;
  span->covered_until = known.covered_until;
}

Status Window::add(const Run& run) {
  for (size_t position = run.begin; position < run.end; ++position) {
    const size_t row = run.row(position);
    const uint8_t level = level_of(levels_, run.batch->site[row]);
    if (level == 0) {
      ++facts_.unknown_site;
      continue;
    }
    Span& span = add(run, row, level);
    if (level == XSP_LEVEL_MODEL && span.iteration == kNoIteration) {
      span.iteration =
          iteration_of(options_, span.thread, span.start_ns, span.end_ns, run.values(row));
    }
    if (run.first_value != nullptr && run.first_value[row] != run.first_value[row + 1]) {
      XSP_CHECK_OK(add_values(run, row, &span));
    }
    if (entered_ > lag_) leave();
  }
  return Ok{};
}

inline Span& Window::add(const Run& run, size_t row, uint8_t level) {
  Thread* state = thread(run.batch->thread[row]);
  Span& span = enter(run, row, level, state);
  bool is_waiting = true;
  if (span.on_device) {
    is_waiting = span.correlation_id == 0 || launches_.find(span.correlation_id) == nullptr;
    if (is_device_layer(span)) {
      take_executions(span);
    } else if (span.correlation_id != 0 && span.level > XSP_LEVEL_LAYER) {
      wait_for_device_layer(span);
    }
  } else {
    // Most spans have no children: the span on top of the stack ended before they began.
    if (state->waiting.size() > state->first_waiting &&
        at(state->waiting.back()).end_ns >= span.start_ns) {
      take_children(state, &span);
    }
    if (span.correlation_id != 0) launches_.insert(span.correlation_id, span.id, entered_);
  }
  if (has_given_times_ && is_waiting) {
    is_waiting = !find_earlier_parent(state, &span);
    if (!span.on_device) remember(state, span);
  }
  if (is_waiting) state->waiting.push_back(entered_);
  return span;
}

Status Window::add_values(const Run& run, size_t row, Span* span) {
  const auto values = run.values(row);
  for (const trace::SpanValue& value : values) XSP_CHECK_OK(values_->value(span->id, value));
  return Ok{};
}

// Makes the spans on top of the waiting stack that `span` contains its children. The latest come
// first, so the time that a child newly covers ends where the one before began.
void Window::take_children(Thread* state, Span* span) {
  std::vector<uint64_t>& waiting = state->waiting;
  const int64_t from = std::max(span->start_ns, span->covered_until);
  int64_t covered_from = span->end_ns;
  kept_.clear();
  while (waiting.size() > state->first_waiting) {
    Span& child = at(waiting.back());
    if (child.end_ns < span->start_ns) break;
    const bool is_exact =
        span->level <= child.level && reaches_lane(*span, child) && holds_exactly(*span, child);
    if (!is_exact && !holds(*span, child, options_.tolerance_ns)) {
      if (kept_.size() == kOverlapMax) break;
      note_overlap(&child, span);
      kept_.push_back(waiting.back());
      waiting.pop_back();
      continue;
    }
    waiting.pop_back();
    child.is_attached = true;
    if (child.is_in_device_layer) continue;
    child.parent_id = span->id;
    if (!is_exact) count_clipped(*span, child);
    if (child.on_device) continue;
    if (child.level == span->level) span->same_level_inside += 1 + child.same_level_inside;
    const int64_t start = std::max(child.start_ns, from);
    const int64_t end = std::min(child.end_ns, covered_from);
    if (end <= start) continue;
    span->self_ns += end - start;
    covered_from = start;
    span->covered_until = std::max(span->covered_until, end);
  }
  if (!kept_.empty()) waiting.insert(waiting.end(), kept_.rbegin(), kept_.rend());
}

// Counts an overlap. `span` entered after `waiting`, and does not contain it.
void Window::note_overlap(Span* waiting, Span* span) {
  if (waiting->on_device || waiting->end_ns <= span->start_ns) return;
  if (waiting->start_ns >= span->start_ns) return;  // inside, but of a higher level
  if (holds(*waiting, *span, options_.tolerance_ns)) return;
  const bool is_above = waiting->level < span->level;
  if (!reaches_lane(is_above ? *waiting : *span, is_above ? *span : *waiting)) return;
  ++facts_.overlapping;
  if (waiting->level == span->level) return;
  Span* deeper = waiting->level > span->level ? waiting : span;
  facts_.ambiguous += deeper->is_ambiguous ? 0 : 1;
  deeper->is_ambiguous = true;
}

// Finds a parent that ended before its child, which the tolerance allows.
bool Window::find_earlier_parent(Thread* state, Span* span) {
  for (const uint64_t number : state->recent) {
    if (number <= left_) continue;
    Span& parent = at(number);
    if (parent.level >= span->level || !holds(parent, *span, options_.tolerance_ns)) continue;
    span->parent_id = parent.id;
    span->is_attached = true;
    count_clipped(parent, *span);
    account(&parent, *span);
    return true;
  }
  return false;
}

void Window::remember(Thread* state, const Span& span) {
  std::vector<uint64_t>& recent = state->recent;
  size_t gone = 0;
  while (gone < recent.size() && at(recent[gone]).end_ns < span.end_ns - options_.tolerance_ns) {
    ++gone;
  }
  recent.erase(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(gone));
  if (recent.size() >= lag_) recent.clear();
  recent.push_back(entered_);
}

// Adds a child to its parent in the order of ends, long after or before the parent's other
// children.
void Window::account(Span* parent, const Span& child) {
  if (child.on_device) return;
  if (child.level == parent->level) parent->same_level_inside += 1 + child.same_level_inside;
  const int64_t start = std::max({child.start_ns, parent->start_ns, parent->covered_until});
  const int64_t end = std::min(child.end_ns, parent->end_ns);
  if (end <= start) return;
  parent->self_ns += end - start;
  parent->covered_until = end;
}

void Window::count_clipped(const Span& parent, const Span& child) {
  ++facts_.clipped;
  facts_.clipped_max_ns = std::max(
      {facts_.clipped_max_ns, parent.start_ns - child.start_ns, child.end_ns - parent.end_ns});
}

// Returns the first long span that has not entered yet and contains `span`; 0: none.
uint64_t Window::find_long_parent(const Span& span) {
  const Thread& state = *static_cast<const Thread*>(span.thread_state);
  // Long spans outside the window follow `span` in the order of ends, unless it is one of them.
  for (size_t i = state.next_long; i < state.longs.size(); ++i) {
    const ThreadLong& entry = state.longs[i];
    if (entry.earliest_start_ns > span.start_ns + options_.tolerance_ns) break;
    if (longs_[entry.id - 1].number != 0 || (is_long(span) && entry.id <= span.id)) continue;
    if (holds(longs_[entry.id - 1].span, span, options_.tolerance_ns)) return entry.id;
  }
  return 0;
}

// Finds the ancestors of `span`, and of the spans on the way up.
void Window::resolve(Span* span) {
  if (span->is_attached) {
    const Span* known = find(span->parent_id);
    if (known != nullptr && known->is_resolved) return inherit(span, known);
  }
  chain_.clear();
  Span* parent = span;
  while (parent != nullptr && !parent->is_resolved) {
    chain_.push_back(parent);
    if (parent->parent_id == 0) parent->parent_id = find_long_parent(*parent);
    parent = parent->parent_id != 0 ? find(parent->parent_id) : nullptr;
  }
  for (size_t i = chain_.size(); i-- > 0;) {
    inherit(chain_[i], parent);
    parent = chain_[i];
  }
}

inline void Window::inherit(Span* span, const Span* parent) {
  span->is_resolved = true;
  if (parent != nullptr) {
    span->model_id = parent->model_id;
    span->layer_id = parent->layer_id;
    span->model_slot = parent->model_slot;
    const bool nests = parent->level == span->level && !span->on_device;
    span->depth = nests ? parent->depth + 1 : 0;
    if (span->iteration == kNoIteration) span->iteration = parent->iteration;
  }
  if (span->level == XSP_LEVEL_MODEL) {
    span->model_id = span->id;
    span->model_slot = model_slot_count_++;
    ModelSlot& slot = model_slots_[span->model_slot & (model_slots_.size() - 1)];
    slot = ModelSlot{};
    slot.model_id = span->id;
  }
  if (span->level == XSP_LEVEL_LAYER) span->layer_id = span->id;
}

std::vector<uint64_t>& Window::executions_of(const Span& span) {
  return executions_[uint64_t{span.device} << 32 | span.stream];
}

void Window::wait_for_device_layer(const Span& span) {
  std::vector<uint64_t>& waiting = executions_of(span);
  if (!waiting.empty() && waiting.back() <= left_) waiting.clear();
  if (waiting.size() >= 2 * lag_) {
    waiting.erase(waiting.begin(), std::upper_bound(waiting.begin(), waiting.end(), left_));
  }
  waiting.push_back(entered_);
}

// Executions of other launches stay: a launch that comes later may still have its layer.
void Window::take_executions(const Span& layer) {
  std::vector<uint64_t>& waiting = executions_of(layer);
  for (size_t i = waiting.size(); i-- > 0 && waiting[i] > left_;) {
    Span& execution = at(waiting[i]);
    if (execution.end_ns < layer.start_ns) return;
    if (execution.correlation_id != layer.correlation_id || execution.is_in_device_layer) continue;
    if (!holds_exactly(layer, execution)) continue;
    execution.parent_id = layer.id;
    execution.is_in_device_layer = true;
  }
}

bool Window::inherit_from_device_layer(Span* span) {
  Span* layer = span->is_in_device_layer ? find(span->parent_id) : nullptr;
  if (layer == nullptr) return false;
  if (!layer->is_resolved && !inherit_from_launch(layer)) resolve(layer);
  inherit(span, layer);
  return true;
}

bool Window::inherit_from_launch(Span* span) {
  if (span->correlation_id == 0) return false;
  Launch* launch = launches_.find(span->correlation_id);
  if (launch == nullptr) return false;
  if (!launch->is_emitted) {
    Span* caller = find(launch->id);
    if (caller == nullptr || (!is_finishing_ && launch->number > left_ + lag_ / 2)) return false;
    resolve(caller);
    launch->model_id = caller->model_id;
    launch->layer_id = caller->layer_id;
    launch->model_slot = caller->model_slot;
    launch->iteration = caller->iteration;
  }
  launch->is_matched = true;
  span->is_resolved = true;
  const bool is_layer = is_device_layer(*span);
  span->parent_id = is_layer ? launch->model_id : launch->id;
  span->model_id = launch->model_id;
  span->layer_id = is_layer ? span->id : launch->layer_id;
  span->model_slot = launch->model_slot;
  span->iteration = launch->iteration;
  return true;
}

// Removes the span that leaves from the waiting spans, if it is one.
void Window::stop_waiting(Thread* state) {
  std::vector<uint64_t>& waiting = state->waiting;
  if (state->first_waiting == waiting.size() || waiting[state->first_waiting] != left_) return;
  ++state->first_waiting;
  if (state->first_waiting < 4096 || 2 * state->first_waiting < waiting.size()) return;
  waiting.erase(waiting.begin(),
                waiting.begin() + static_cast<std::ptrdiff_t>(state->first_waiting));
  state->first_waiting = 0;
}

inline void Window::leave() {
  Span& span = at(++left_);
  __builtin_prefetch(&at(left_ + 8));
  if (!span.is_attached) stop_waiting(static_cast<Thread*>(span.thread_state));
  // Most spans have a parent in the window.
  Span* parent = span.is_attached && !span.on_device ? find(span.parent_id) : nullptr;
  if (parent != nullptr && !span.is_resolved) {
    if (!parent->is_resolved) resolve(parent);
    inherit(&span, parent);
  } else {
    settle(&span);
  }
  count(span);
  span.self_ns = std::max<int64_t>(0, span.end_ns - span.start_ns - span.self_ns);
  span.ordinal = next_ordinal(span);
}

// Finds the ancestors of a span that leaves, and adds it to its parent if that is still to do.
void Window::settle(Span* span) {
  const bool is_launched =
      span->on_device &&
      (span->is_resolved || inherit_from_device_layer(span) || inherit_from_launch(span));
  if (span->on_device && !is_launched) ++facts_.executions_unmatched;
  if (!span->is_resolved) resolve(span);
  if (span->is_attached || is_launched || span->parent_id == 0) return;
  Span* parent = find(span->parent_id);
  if (parent == nullptr) return;
  account(parent, *span);
  if (!holds_exactly(*parent, *span)) count_clipped(*parent, *span);
}

// The ended spans of its level include those inside it, which began after it, and lack those around
// it, which began before it but have not ended.
inline int32_t Window::next_ordinal(const Span& span) {
  if (span.model_id == 0 || span.level >= std::size(ModelSlot{}.counts)) return -1;
  if (span.level == XSP_LEVEL_MODEL) return 0;
  ModelSlot& slot = model_slots_[span.model_slot & (model_slots_.size() - 1)];
  if (slot.model_id != span.model_id) return -1;
  const uint32_t ended = slot.counts[span.level]++;
  return static_cast<int32_t>(ended - span.same_level_inside + span.depth);
}

inline void Window::count(const Span& span) {
  if (span.is_open) ++facts_.open_spans;
  if (span.on_device && !is_device_layer(span)) ++facts_.executions;
  if (span.parent_id == 0) ++(span.level <= XSP_LEVEL_MODEL ? facts_.roots : facts_.unattributed);
  if (span.correlation_id != 0 && !span.on_device) keep_for_executions(span);
}

void Window::keep_for_executions(const Span& span) {
  Launch* launch = launches_.find(span.correlation_id);
  if (launch == nullptr || launch->id != span.id) return;
  launch->is_emitted = true;
  launch->model_id = span.model_id;
  launch->layer_id = span.layer_id;
  launch->model_slot = span.model_slot;
  launch->iteration = span.iteration;
}

std::span<const Span> Window::take() {
  const uint64_t to_edge = ring_.size() - ((taken_ + 1) & mask_);
  const uint64_t count = std::min(left_ - taken_, to_edge);
  const Span* first = &at(taken_ + 1);
  taken_ += count;
  return {first, count};
}

void Window::finish() {
  is_finishing_ = true;
  while (left_ < entered_) leave();
  facts_.spans = left_;
  facts_.launches = launches_.count();
  facts_.launches_unmatched = launches_.count_unmatched();
}

}  // namespace xsp::correlate
