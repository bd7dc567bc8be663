#include "correlate/window.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::correlate {

namespace {

constexpr size_t kOutSpans = 1024;

// A span that overlaps this many without holding them looks no further. Real traces have a handful.
constexpr size_t kOverlapMax = 1024;

}  // namespace

Window::Window(const Options& options, const std::vector<uint8_t>& levels,
               const FirstPass& first_pass, Sink* sink)
    : options_(options),
      levels_(levels),
      mask_(options.window - 1),
      lag_(options.window / 2),
      has_given_times_(first_pass.has_given_times),
      sink_(sink),
      ring_(options.window),
      longs_(first_pass.long_spans.size()),
      model_slots_(2 * options.window) {
  out_.resize(kOutSpans);
  for (size_t i = 0; i < longs_.size(); ++i) {
    const LongSpan& span = first_pass.long_spans[i];
    Node& node = longs_[i].node;
    set_fresh(&node);
    static_cast<Extent&>(node) = span.extent;
    node.id = i + 1;
    node.site = span.site;
    node.iteration = span.iteration;
    node.state = thread(span.thread);
    node.state->longs.push_back({node.id, span.extent.start_ns});
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

Window::Thread* Window::thread(uint32_t id) {
  if (last_thread_state_ == nullptr || last_thread_ != id) {
    last_thread_ = id;
    last_thread_state_ = &threads_[id];
  }
  return last_thread_state_;
}

// A span that is in the window, or long and not yet there; nullptr: it has gone.
Window::Node* Window::find(uint64_t id) {
  uint64_t number = id - longs_.size();
  if (id <= longs_.size()) {
    LongEntry& entry = longs_[id - 1];
    if (entry.number == 0) return &entry.node;
    number = entry.number;
  }
  Node& node = at(number);
  return number <= entered_ && node.id == id ? &node : nullptr;
}

// All but what the trace says of the span.
void Window::set_fresh(Node* node) {
  node->is_attached = false;
  node->is_resolved = false;
  node->is_ambiguous = false;
  node->parent_id = 0;
  node->model_id = 0;
  node->layer_id = 0;
  node->iteration = kNoIteration;
  node->covered_ns = 0;
  node->covered_until = INT64_MIN;
  node->model_slot = 0;
  node->same_level_inside = 0;
  node->depth = 0;
}

inline Window::Node& Window::enter(const Run& run, size_t row, uint8_t level, Thread* state) {
  Node& node = at(++entered_);
  const trace::SpanBatch& batch = *run.batch;
  set_fresh(&node);
  node.start_ns = batch.start_ns[row];
  node.end_ns = batch.end_ns[row];
  node.level = level;
  node.given_times = run.given_times;
  node.on_device = batch.device[row] != 0;
  node.is_open = run.is_open;
  node.site = batch.site[row];
  node.id = entered_ + longs_.size();
  node.correlation_id = batch.correlation_id[row];
  node.state = state;
  node.thread = batch.thread[row];
  node.device = batch.device[row];
  node.stream = batch.stream[row];
  if (node.end_ns >= state->next_long_end_ns) become_long(state, &node);
  return node;
}

void Window::set_next_long_end(Thread* state) {
  state->next_long_end_ns = state->next_long < state->longs.size()
                                ? longs_[state->longs[state->next_long].id - 1].node.end_ns
                                : INT64_MAX;
}

bool Window::is_same(const LongEntry& entry, const Node& node) {
  return entry.number == 0 && entry.node.end_ns == node.end_ns &&
         entry.node.start_ns == node.start_ns && entry.node.site == node.site &&
         entry.node.given_times == node.given_times && !node.on_device;
}

// Is it the thread's next long span? Then what its earlier children have told it comes along.
void Window::become_long(Thread* state, Node* node) {
  std::vector<ThreadLong>& longs = state->longs;
  size_t i = state->next_long;
  while (i < longs.size() && !is_same(longs_[longs[i].id - 1], *node)) {
    if (longs_[longs[i].id - 1].node.end_ns > node->end_ns) return;
    ++i;  // of equal ends, another; or one that the trace no longer has
  }
  if (i == longs.size()) return;
  LongEntry& entry = longs_[longs[i].id - 1];
  entry.number = entered_;
  while (state->next_long < longs.size() &&
         (longs_[longs[state->next_long].id - 1].number != 0 ||
          longs_[longs[state->next_long].id - 1].node.end_ns < node->end_ns)) {
    ++state->next_long;
  }
  set_next_long_end(state);
  const Node& known = entry.node;
  node->id = known.id;
  node->is_resolved = known.is_resolved;
  node->parent_id = known.parent_id;
  node->model_id = known.model_id;
  node->layer_id = known.layer_id;
  node->iteration = known.iteration;
  node->covered_ns = known.covered_ns;
  node->covered_until = known.covered_until;
  node->model_slot = known.model_slot;
  node->same_level_inside = known.same_level_inside;
  node->depth = known.depth;
}

Status Window::add(const Run& run) {
  for (size_t position = run.begin; position < run.end; ++position) {
    const size_t row = run.row(position);
    const uint8_t level = level_of(levels_, run.batch->site[row]);
    if (level == 0) {
      ++facts_.unknown_site;
      continue;
    }
    Node& node = add(run, row, level);
    if (run.first_value != nullptr && run.first_value[row] != run.first_value[row + 1]) {
      XSP_CHECK_OK(add_values(run, row, &node));
    }
    if (entered_ <= lag_) continue;
    leave();
    if (out_count_ == kOutSpans) XSP_CHECK_OK(flush());
  }
  return Ok{};
}

inline Window::Node& Window::add(const Run& run, size_t row, uint8_t level) {
  Thread* state = thread(run.batch->thread[row]);
  Node& node = enter(run, row, level, state);
  bool is_waiting = true;
  if (node.on_device) {
    is_waiting = node.correlation_id == 0 || launches_.find(node.correlation_id) == nullptr;
  } else {
    // Most hold none: the one before, on the top of the stack, ended before they began.
    if (state->waiting.size() > state->first_waiting &&
        at(state->waiting.back()).end_ns >= node.start_ns) {
      take_children(state, &node);
    }
    if (node.correlation_id != 0) launches_.insert(node.correlation_id, node.id, entered_);
  }
  if (has_given_times_ && is_waiting) {
    is_waiting = !find_earlier_parent(state, &node);
    if (!node.on_device) remember(state, node);
  }
  if (is_waiting) state->waiting.push_back(entered_);
  return node;
}

Status Window::add_values(const Run& run, size_t row, Node* node) {
  const auto values = run.values(row);
  if (node->level == XSP_LEVEL_MODEL && node->iteration == kNoIteration) {
    node->iteration = iteration_of(values, options_.iteration_key);
  }
  for (const trace::SpanValue& value : values) XSP_CHECK_OK(sink_->value(node->id, value));
  return Ok{};
}

// The spans on top of the stack of the waiting that `node` holds become its children. They come
// latest first: what a child covers anew ends where the one before began.
void Window::take_children(Thread* state, Node* node) {
  std::vector<uint64_t>& waiting = state->waiting;
  const int64_t from = std::max(node->start_ns, node->covered_until);
  int64_t covered_from = node->end_ns;
  kept_.clear();
  while (waiting.size() > state->first_waiting) {
    Node& child = at(waiting.back());
    if (child.end_ns < node->start_ns) break;
    const bool is_exact = node->level <= child.level && holds_exactly(*node, child);
    if (!is_exact && !holds(*node, child, options_.tolerance_ns)) {
      if (kept_.size() == kOverlapMax) break;
      note_overlap(&child, node);
      kept_.push_back(waiting.back());
      waiting.pop_back();
      continue;
    }
    waiting.pop_back();
    child.parent_id = node->id;
    child.is_attached = true;
    if (!is_exact) count_clipped(*node, child);
    if (child.on_device) continue;
    if (child.level == node->level) node->same_level_inside += 1 + child.same_level_inside;
    const int64_t start = std::max(child.start_ns, from);
    const int64_t end = std::min(child.end_ns, covered_from);
    if (end <= start) continue;
    node->covered_ns += end - start;
    covered_from = start;
    node->covered_until = std::max(node->covered_until, end);
  }
  if (!kept_.empty()) waiting.insert(waiting.end(), kept_.rbegin(), kept_.rend());
}

// `node` entered after `waiting`, and does not hold it.
void Window::note_overlap(Node* waiting, Node* node) {
  if (waiting->on_device || waiting->end_ns <= node->start_ns) return;
  if (waiting->start_ns >= node->start_ns) return;  // inside, but of a higher level
  if (holds(*waiting, *node, options_.tolerance_ns)) return;
  ++facts_.overlapping;
  if (waiting->level == node->level) return;
  Node* deeper = waiting->level > node->level ? waiting : node;
  facts_.ambiguous += deeper->is_ambiguous ? 0 : 1;
  deeper->is_ambiguous = true;
}

// With tolerance, a parent may end before its child.
bool Window::find_earlier_parent(Thread* state, Node* node) {
  for (const uint64_t number : state->recent) {
    if (number <= left_) continue;
    Node& parent = at(number);
    if (parent.level >= node->level || !holds(parent, *node, options_.tolerance_ns)) continue;
    node->parent_id = parent.id;
    node->is_attached = true;
    count_clipped(parent, *node);
    account(&parent, *node);
    return true;
  }
  return false;
}

void Window::remember(Thread* state, const Node& node) {
  std::vector<uint64_t>& recent = state->recent;
  size_t gone = 0;
  while (gone < recent.size() && at(recent[gone]).end_ns < node.end_ns - options_.tolerance_ns) {
    ++gone;
  }
  recent.erase(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(gone));
  if (recent.size() >= lag_) recent.clear();
  recent.push_back(entered_);
}

// A child told to its parent in the order of ends, long after or before the parent's other
// children.
void Window::account(Node* parent, const Node& child) {
  if (child.on_device) return;
  if (child.level == parent->level) parent->same_level_inside += 1 + child.same_level_inside;
  const int64_t start = std::max({child.start_ns, parent->start_ns, parent->covered_until});
  const int64_t end = std::min(child.end_ns, parent->end_ns);
  if (end <= start) return;
  parent->covered_ns += end - start;
  parent->covered_until = end;
}

void Window::count_clipped(const Extent& parent, const Extent& child) {
  ++facts_.clipped;
  facts_.clipped_max_ns = std::max(
      {facts_.clipped_max_ns, parent.start_ns - child.start_ns, child.end_ns - parent.end_ns});
}

// The first long span that has not entered yet and holds `node`; 0: none.
uint64_t Window::find_long_parent(const Node& node) {
  const Thread& state = *node.state;
  // Long spans that are not in the window follow it in the order of ends, but for itself.
  for (size_t i = state.next_long; i < state.longs.size(); ++i) {
    const ThreadLong& entry = state.longs[i];
    if (entry.earliest_start_ns > node.start_ns + options_.tolerance_ns) break;
    if (longs_[entry.id - 1].number != 0 || (is_long(node) && entry.id <= node.id)) continue;
    if (holds(longs_[entry.id - 1].node, node, options_.tolerance_ns)) return entry.id;
  }
  return 0;
}

// Finds the ancestors of `node`, and of those on the way up.
void Window::resolve(Node* node) {
  chain_.clear();
  Node* parent = node;
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

inline void Window::inherit(Node* node, const Node* parent) {
  node->is_resolved = true;
  if (parent != nullptr) {
    node->model_id = parent->model_id;
    node->layer_id = parent->layer_id;
    node->model_slot = parent->model_slot;
    const bool nests = parent->level == node->level && !node->on_device;
    node->depth = nests ? parent->depth + 1 : 0;
    if (node->iteration == kNoIteration) node->iteration = parent->iteration;
  }
  if (node->level == XSP_LEVEL_MODEL) {
    node->model_id = node->id;
    node->model_slot = model_slot_count_++;
    ModelSlot& slot = model_slots_[node->model_slot & (model_slots_.size() - 1)];
    slot = ModelSlot{};
    slot.model_id = node->id;
  }
  if (node->level == XSP_LEVEL_LAYER) node->layer_id = node->id;
}

bool Window::inherit_from_launch(Node* node) {
  if (node->correlation_id == 0) return false;
  Launch* launch = launches_.find(node->correlation_id);
  if (launch == nullptr) return false;
  if (!launch->is_emitted) {
    Node* span = find(launch->id);
    if (span == nullptr || (!is_finishing_ && launch->number > left_ + lag_ / 2)) return false;
    resolve(span);
    launch->model_id = span->model_id;
    launch->layer_id = span->layer_id;
    launch->model_slot = span->model_slot;
    launch->iteration = span->iteration;
  }
  launch->is_matched = true;
  node->is_resolved = true;
  node->parent_id = launch->id;
  node->model_id = launch->model_id;
  node->layer_id = launch->layer_id;
  node->model_slot = launch->model_slot;
  node->iteration = launch->iteration;
  return true;
}

inline void Window::leave() {
  Node& node = at(++left_);
  Thread& state = *node.state;
  if (state.first_waiting < state.waiting.size() && state.waiting[state.first_waiting] == left_) {
    ++state.first_waiting;
    if (state.first_waiting >= 4096 && 2 * state.first_waiting >= state.waiting.size()) {
      state.waiting.erase(state.waiting.begin(),
                          state.waiting.begin() + static_cast<std::ptrdiff_t>(state.first_waiting));
      state.first_waiting = 0;
    }
  }
  // Most have a parent in the window, and most parents have had children that left before.
  const Node* parent = node.is_attached && !node.on_device ? find(node.parent_id) : nullptr;
  if (parent != nullptr && parent->is_resolved && !node.is_resolved) {
    inherit(&node, parent);
  } else {
    settle(&node);
  }
  count(node);
  Span& span = out_[out_count_++];
  span.id = node.id;
  span.parent_id = node.parent_id;
  span.model_id = node.model_id;
  span.layer_id = node.layer_id;
  span.start_ns = node.start_ns;
  span.end_ns = node.end_ns;
  span.self_ns = std::max<int64_t>(0, node.end_ns - node.start_ns - node.covered_ns);
  span.correlation_id = node.correlation_id;
  span.iteration = node.iteration;
  span.ordinal = next_ordinal(node);
  span.site = node.site;
  span.thread = node.thread;
  span.device = node.device;
  span.stream = node.stream;
  span.depth = node.depth;
  span.level = node.level;
  span.is_open = node.is_open;
}

// A span that leaves finds its ancestors, and its parent hears of it if it has not yet.
void Window::settle(Node* node) {
  const bool is_launched = node->on_device && inherit_from_launch(node);
  if (node->on_device && !is_launched) ++facts_.executions_unmatched;
  if (!node->is_resolved) resolve(node);
  if (node->is_attached || is_launched || node->parent_id == 0) return;
  Node* parent = find(node->parent_id);
  if (parent == nullptr) return;
  account(parent, *node);
  if (!holds_exactly(*parent, *node)) count_clipped(*parent, *node);
}

// Of the spans of its level that ended before it, those inside it began after it; those around it
// have not ended yet, but began before it.
inline int64_t Window::next_ordinal(const Node& node) {
  if (node.model_id == 0 || node.level >= std::size(ModelSlot{}.counts)) return -1;
  if (node.level == XSP_LEVEL_MODEL) return 0;
  ModelSlot& slot = model_slots_[node.model_slot & (model_slots_.size() - 1)];
  if (slot.model_id != node.model_id) return -1;
  const int64_t ended = slot.counts[node.level]++;
  return ended - node.same_level_inside + node.depth;
}

inline void Window::count(const Node& node) {
  if (node.is_open) ++facts_.open_spans;
  if (node.on_device) ++facts_.executions;
  if (node.parent_id == 0) ++(node.level <= XSP_LEVEL_MODEL ? facts_.roots : facts_.unattributed);
  if (node.correlation_id != 0 && !node.on_device) keep_for_executions(node);
}

void Window::keep_for_executions(const Node& node) {
  Launch* launch = launches_.find(node.correlation_id);
  if (launch == nullptr || launch->id != node.id) return;
  launch->is_emitted = true;
  launch->model_id = node.model_id;
  launch->layer_id = node.layer_id;
  launch->model_slot = node.model_slot;
  launch->iteration = node.iteration;
}

Status Window::flush() {
  XSP_CHECK_OK(sink_->spans({out_.data(), out_count_}));
  out_count_ = 0;
  return Ok{};
}

Status Window::finish() {
  is_finishing_ = true;
  while (left_ < entered_) {
    leave();
    if (out_count_ == kOutSpans) XSP_CHECK_OK(flush());
  }
  facts_.spans = left_;
  facts_.launches = launches_.count();
  facts_.launches_unmatched = launches_.count_unmatched();
  return flush();
}

}  // namespace xsp::correlate
