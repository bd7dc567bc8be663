#include "collectors/cupti/graphs.h"

#include <algorithm>

namespace xsp::cupti {

void GraphNotes::create(uint64_t node, xsp_layer_mark mark, uint32_t thread) {
  const std::lock_guard lock(mutex_);
  const uint32_t graph = graph_of(node);
  Nodes& nodes = graphs_[graph];
  nodes.next = std::max(nodes.next, static_cast<uint32_t>(node) + 1);
  ++nodes.alive;
  if (mark.site_id != 0) marks_[node] = mark;
  const auto copied = copied_.find(thread);
  if (copied == copied_.end() || copied->second.graph == graph) return;
  // A graph is copied into the node that will contain it, so it is newer than that node's graph.
  if (copied->second.graph > graph) inside_[node] = std::move(copied->second);
  copied_.erase(copied);
}

void GraphNotes::copy(uint64_t original, uint64_t copy, uint32_t thread) {
  const std::lock_guard lock(mutex_);
  const auto found = marks_.find(original);
  const xsp_layer_mark mark = found == marks_.end() ? xsp_layer_mark{} : found->second;
  if (mark.site_id != 0) marks_[copy] = mark;
  Copied& copied = copied_[thread];
  if (copied.graph != graph_of(copy)) copied = {graph_of(copy), {}, false};
  copied.marks.push_back(mark);
  const auto inside = inside_.find(original);
  if (inside == inside_.end()) return;
  copied.is_nested = true;
  instantiated_[copy] = inside->second;
}

void GraphNotes::replace(uint64_t node, const Copied& inside) {
  const uint32_t graph = graph_of(node);
  Nodes& nodes = graphs_[graph];
  // Nothing is known of the order in which CUDA replaces nodes inside of nodes.
  nodes.is_known = nodes.is_known && !inside.is_nested;
  if (!nodes.is_known) return;
  for (const xsp_layer_mark& mark : inside.marks) {
    if (mark.site_id != 0) marks_[uint64_t{graph} << 32 | nodes.next] = mark;
    ++nodes.next;
    ++nodes.alive;
  }
}

void GraphNotes::destroy(uint64_t node) {
  const std::lock_guard lock(mutex_);
  inside_.erase(node);
  if (const auto contains = instantiated_.extract(node)) replace(node, contains.mapped());
  if (const auto nodes = graphs_.find(graph_of(node));
      nodes != graphs_.end() && --nodes->second.alive == 0) {
    graphs_.erase(nodes);
  }
  if (marks_.count(node) == 0) return;
  destroyed_.push_back(node);
  if (destroyed_.size() <= kDestroyedMax) return;
  marks_.erase(destroyed_.front());
  destroyed_.pop_front();
}

xsp_layer_mark GraphNotes::find(uint64_t node) const {
  const std::lock_guard lock(mutex_);
  const auto found = marks_.find(node);
  return found == marks_.end() ? xsp_layer_mark{} : found->second;
}

void GraphNotes::capture(uint32_t thread, uint64_t cupti_ns) {
  const std::lock_guard lock(mutex_);
  captured_[thread].push_back(cupti_ns);
  has_captured_.store(true, std::memory_order_release);
}

bool GraphNotes::is_captured(uint32_t thread, uint64_t start_ns, uint64_t end_ns) {
  if (!has_captured_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  const auto found = captured_.find(thread);
  if (found == captured_.end()) return false;
  std::deque<uint64_t>& moments = found->second;
  while (!moments.empty() && moments.front() < start_ns) moments.pop_front();
  return !moments.empty() && moments.front() <= end_ns;
}

void Replays::add(const ReplayedLayer& part) {
  auto& layers = open_[part.correlation_id];
  const Place place{part.mark.site_id, part.mark.instance, part.device, part.stream};
  const auto [known, is_new] = layers.emplace(place, part);
  if (!is_new) {
    known->second.start_ns = std::min(known->second.start_ns, part.start_ns);
    known->second.end_ns = std::max(known->second.end_ns, part.end_ns);
  }
  if (open_.size() > kOpenMax) close_oldest();
}

void Replays::finish() {
  while (!open_.empty()) close_oldest();
}

void Replays::close_oldest() {
  for (const auto& [place, layer] : open_.begin()->second) emit_(layer);
  open_.erase(open_.begin());
}

}  // namespace xsp::cupti
