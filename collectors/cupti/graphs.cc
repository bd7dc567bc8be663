#include "collectors/cupti/graphs.h"

#include <algorithm>

namespace xsp::cupti {

void GraphNotes::note(uint64_t node, xsp_layer_mark mark) {
  if (mark.site_id == 0) return;
  const std::lock_guard lock(mutex_);
  marks_[node] = mark;
}

void GraphNotes::copy(uint64_t original, uint64_t copy) {
  const std::lock_guard lock(mutex_);
  const auto found = marks_.find(original);
  if (found == marks_.end()) return;
  const xsp_layer_mark mark = found->second;
  marks_[copy] = mark;
}

void GraphNotes::destroy(uint64_t node) {
  const std::lock_guard lock(mutex_);
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
