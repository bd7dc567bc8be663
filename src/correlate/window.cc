#include "correlate/window.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::correlate {

namespace {

constexpr size_t kOutSpans = 2048;

// A span that overlaps this many without holding them looks no further. Real traces have a handful.
constexpr size_t kOverlapMax = 1024;

}  // namespace

Window::Window(const Options& options, const std::vector<uint8_t>& levels,
               const LongSpans& long_spans, Sink* sink)
    : options_(options),
      levels_(levels),
      mask_(options.window - 1),
      lag_(options.window / 2),
      sink_(sink),
      ring_(options.window),
      model_slots_(2 * options.window) {
  out_.reserve(kOutSpans);
  for (uint32_t id : long_spans.given_threads()) threads_[id].has_given_times = true;
  for (const auto& [id, spans] : long_spans.by_thread()) {
    Thread* state = &threads_[id];
    for (const LongSpan& span : spans) {
      state->longs.push_back({span.extent, span.id, span.extent.start_ns});
      Node& node = longs_[span.id];
      static_cast<Extent&>(node) = span.extent;
      node.id = span.id;
      node.iteration = span.iteration;
      node.thread_state = state;
    }
    for (size_t i = state->longs.size() - 1; i-- > 0;) {
      LongEntry& entry = state->longs[i];
      entry.earliest_start_ns =
          std::min(entry.earliest_start_ns, state->longs[i + 1].earliest_start_ns);
    }
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
  if (id <= entered_) {
    Node& node = ring_[id & mask_];
    return node.id == id ? &node : nullptr;
  }
  const auto found = longs_.find(id);
  return found != longs_.end() ? &found->second : nullptr;
}

Window::Node& Window::enter(const Run& run, size_t row, uint8_t level, Thread* state) {
  const uint64_t id = ++entered_;
  Node& node = ring_[id & mask_];
  node = Node{};
  if (state->next_long < state->longs.size() && state->longs[state->next_long].id == id) {
    // What its earlier children have told it comes along.
    ++state->next_long;
    const auto found = longs_.find(id);
    node = found->second;
    longs_.erase(found);
  }
  const trace::SpanBatch& batch = *run.batch;
  node.start_ns = batch.start_ns[row];
  node.end_ns = batch.end_ns[row];
  node.level = level;
  node.given_times = run.given_times;
  node.on_device = batch.device[row] != 0;
  node.id = id;
  node.thread_state = state;
  node.correlation_id = batch.correlation_id[row];
  node.site = batch.site[row];
  node.thread = batch.thread[row];
  node.device = batch.device[row];
  node.stream = batch.stream[row];
  node.is_open = run.is_open;
  return node;
}

Status Window::add(const Run& run) {
  for (size_t at = run.begin; at < run.end; ++at) {
    const size_t row = run.row(at);
    const uint8_t level = level_of(levels_, run.batch->site[row]);
    if (level == 0) {
      ++facts_.unknown_site;
      continue;
    }
    XSP_CHECK_OK(add(run, row, level));
  }
  return Ok{};
}

Status Window::add(const Run& run, size_t row, uint8_t level) {
  Thread* state = thread(run.batch->thread[row]);
  Node& node = enter(run, row, level, state);
  bool is_waiting = true;
  if (node.on_device) {
    is_waiting = node.correlation_id == 0 || launches_.find(node.correlation_id) == nullptr;
  } else {
    take_children(state, &node);
    if (node.correlation_id != 0) launches_.insert(node.correlation_id, node.id);
  }
  if (state->has_given_times && is_waiting) {
    is_waiting = !find_earlier_parent(state, &node);
    if (!node.on_device) remember(state, node);
  }
  if (is_waiting) state->waiting.push_back(node.id);
  if (run.first_value != nullptr) XSP_CHECK_OK(add_values(run, row, &node));
  if (entered_ > lag_) return leave(&ring_[(entered_ - lag_) & mask_]);
  return Ok{};
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
  int64_t covered_until = node->covered_until;
  kept_.clear();
  while (waiting.size() > state->first_waiting) {
    Node& child = ring_[waiting.back() & mask_];
    if (child.end_ns < node->start_ns) break;
    if (!holds(*node, child, options_.tolerance_ns)) {
      if (kept_.size() == kOverlapMax) break;
      note_overlap(&child, node);
      kept_.push_back(waiting.back());
      waiting.pop_back();
      continue;
    }
    waiting.pop_back();
    child.parent_id = node->id;
    child.is_attached = true;
    if (!holds_exactly(*node, child)) count_clipped(*node, child);
    if (child.on_device) continue;
    if (child.level == node->level) node->same_level_inside += 1 + child.same_level_inside;
    const int64_t start = std::max(child.start_ns, from);
    const int64_t end = std::min(child.end_ns, covered_from);
    if (end <= start) continue;
    node->covered_ns += end - start;
    covered_from = start;
    covered_until = std::max(covered_until, end);
  }
  node->covered_until = covered_until;
  waiting.insert(waiting.end(), kept_.rbegin(), kept_.rend());
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
  for (uint64_t id : state->recent) {
    if (id <= left_) continue;
    Node& parent = ring_[id & mask_];
    if (parent.level >= node->level || !holds(parent, *node, options_.tolerance_ns)) continue;
    node->parent_id = id;
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
  while (gone < recent.size() &&
         ring_[recent[gone] & mask_].end_ns < node.end_ns - options_.tolerance_ns) {
    ++gone;
  }
  recent.erase(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(gone));
  if (recent.size() >= lag_) recent.clear();
  recent.push_back(node.id);
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
  const Thread& state = *node.thread_state;
  for (size_t i = state.next_long; i < state.longs.size(); ++i) {
    const LongEntry& entry = state.longs[i];
    if (entry.earliest_start_ns > node.start_ns + options_.tolerance_ns) break;
    if (entry.id > node.id && holds(entry.extent, node, options_.tolerance_ns)) return entry.id;
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

void Window::inherit(Node* node, const Node* parent) {
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
    ModelSlot& slot = model_slots_[node->model_slot % model_slots_.size()];
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
    if (span == nullptr || (!is_finishing_ && launch->id > node->id + lag_ / 2)) return false;
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

Status Window::leave(Node* node) {
  left_ = node->id;
  Thread& state = *node->thread_state;
  if (state.first_waiting < state.waiting.size() &&
      state.waiting[state.first_waiting] == node->id) {
    ++state.first_waiting;
    if (state.first_waiting >= 4096 && 2 * state.first_waiting >= state.waiting.size()) {
      state.waiting.erase(state.waiting.begin(),
                          state.waiting.begin() + static_cast<std::ptrdiff_t>(state.first_waiting));
      state.first_waiting = 0;
    }
  }
  const bool is_launched = node->on_device && inherit_from_launch(node);
  if (node->on_device && !is_launched) ++facts_.executions_unmatched;
  if (!node->is_resolved) resolve(node);
  if (!node->is_attached && !is_launched && node->parent_id != 0) {
    Node* parent = find(node->parent_id);
    if (parent != nullptr) {
      account(parent, *node);
      if (!holds_exactly(*parent, *node)) count_clipped(*parent, *node);
    }
  }
  count(*node);
  out_.push_back(
      {node->id, node->parent_id, node->model_id, node->layer_id, node->start_ns, node->end_ns,
       std::max<int64_t>(0, node->end_ns - node->start_ns - node->covered_ns), node->correlation_id,
       node->iteration, next_ordinal(*node), node->site, node->thread, node->device, node->stream,
       node->depth, node->level, node->is_open});
  return out_.size() == kOutSpans ? flush() : Status(Ok{});
}

// Of the spans of its level that ended before it, those inside it began after it; those around it
// have not ended yet, but began before it.
int64_t Window::next_ordinal(const Node& node) {
  if (node.model_id == 0 || node.level >= std::size(ModelSlot{}.counts)) return -1;
  if (node.level == XSP_LEVEL_MODEL) return 0;
  ModelSlot& slot = model_slots_[node.model_slot % model_slots_.size()];
  if (slot.model_id != node.model_id) return -1;
  const int64_t ended = slot.counts[node.level]++;
  return ended - node.same_level_inside + node.depth;
}

void Window::count(const Node& node) {
  ++facts_.spans;
  facts_.open_spans += node.is_open ? 1 : 0;
  facts_.executions += node.on_device ? 1 : 0;
  if (node.parent_id == 0) ++(node.level <= XSP_LEVEL_MODEL ? facts_.roots : facts_.unattributed);
  if (node.correlation_id == 0 || node.on_device) return;
  Launch* launch = launches_.find(node.correlation_id);
  if (launch == nullptr || launch->id != node.id) return;
  launch->is_emitted = true;
  launch->model_id = node.model_id;
  launch->layer_id = node.layer_id;
  launch->model_slot = node.model_slot;
  launch->iteration = node.iteration;
}

Status Window::flush() {
  XSP_CHECK_OK(sink_->spans(out_));
  out_.clear();
  return Ok{};
}

Status Window::finish() {
  is_finishing_ = true;
  while (left_ < entered_) XSP_CHECK_OK(leave(&ring_[(left_ + 1) & mask_]));
  facts_.launches = launches_.count();
  facts_.launches_unmatched = launches_.count_unmatched();
  return flush();
}

}  // namespace xsp::correlate
