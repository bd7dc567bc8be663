#include "process/load/queue.h"

#include <algorithm>

namespace xsp::process {

Queue::Queue(const LoadSettings& settings, int64_t start_ns, Source& source)
    : max_batch_(settings.max_batch),
      max_wait_ns_(settings.max_wait_ns),
      source_(source),
      instances_(settings.instances),
      free_(settings.instances),
      free_since_ns_(start_ns) {}

int64_t Queue::deadline_ns() const {
  return waiting_.empty() ? kNever : waiting_.front().arrival_ns + max_wait_ns_;
}

int64_t Queue::next_ns() const { return std::min(source_.next_ns(), deadline_ns()); }

bool Queue::is_complete(int64_t now_ns) const {
  if (waiting_.empty()) return false;
  if (waiting_.size() >= max_batch_ || now_ns >= deadline_ns()) return true;
  // The answer of another instance may bring a request.
  return source_.next_ns() == kNever && (free_ == instances_ || source_.has_ended());
}

std::optional<Batch> Queue::form(int64_t now_ns) {
  source_.take(now_ns, &waiting_);
  if (free_ == 0 || !is_complete(now_ns)) return std::nullopt;
  const auto end =
      waiting_.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(waiting_.size(), max_batch_));
  Batch batch{batches_++, free_since_ns_, now_ns, {waiting_.begin(), end}};
  waiting_.erase(waiting_.begin(), end);
  --free_;
  return batch;
}

void Queue::answered(const Batch& batch, std::span<const std::string> texts, int64_t done_ns) {
  if (free_++ == 0) free_since_ns_ = done_ns;
  source_.answered(batch.requests, texts, done_ns);
}

}  // namespace xsp::process
