#include "desk/correlate/merge.h"

#include <algorithm>
#include <numeric>

namespace xsp::correlate {

Merge::Merge(Feeds feeds, const std::vector<uint8_t>& levels)
    : cursors_(feeds.size()), levels_(levels) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    cursors_[i].number = i;
    cursors_[i].feed = std::move(feeds[i]);
  }
}

Result<bool> Merge::next(size_t run_max, Run* run) {
  if (!is_started_) {
    is_started_ = true;
    XSP_CHECK_OK(start());
  } else {
    XSP_CHECK_OK(advance());
  }
  if (heap_.empty()) return false;
  const Cursor& cursor = *heap_[0];
  run_end_ = find_run_end(cursor, run_max);
  run->batch = &cursor.batch;
  run->order = cursor.order.empty() ? nullptr : cursor.order.data();
  run->first_value = cursor.first_value.empty() ? nullptr : cursor.first_value.data();
  run->begin = cursor.position;
  run->end = run_end_;
  run->given_times = cursor.feed->given_times();
  run->is_open = cursor.feed->is_open();
  return true;
}

Status Merge::start() {
  for (Cursor& cursor : cursors_) {
    XSP_TRY(const bool more, load(&cursor));
    if (more) heap_.push_back(&cursor);
  }
  std::sort(heap_.begin(), heap_.end(),
            [](const Cursor* a, const Cursor* b) { return comes_before(*a, *b); });
  return Ok{};
}

Status Merge::advance() {
  if (heap_.empty()) return Ok{};
  Cursor& cursor = *heap_[0];
  cursor.position = run_end_;
  if (cursor.position < cursor.batch.size()) {
    set_head(&cursor);
  } else {
    XSP_TRY(const bool more, load(&cursor));
    if (!more) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
  }
  if (!heap_.empty()) sink();
  return Ok{};
}

Result<bool> Merge::load(Cursor* cursor) {
  cursor->position = 0;
  while (cursor->next_batch < cursor->feed->batch_count()) {
    XSP_TRY(const bool is_read, cursor->feed->read(cursor->next_batch++, &cursor->batch));
    damaged_chunks_ += is_read ? 0 : 1;
    if (cursor->batch.size() == 0) continue;
    order_equal_ends(cursor);
    cursor->first_value.clear();
    if (!cursor->batch.values.empty()) cursor->first_value = index_values(cursor->batch);
    set_head(cursor);
    return true;
  }
  return false;
}

// Puts spans that end at the same tick in the order of the rules; they come in any order.
void Merge::order_equal_ends(Cursor* cursor) const {
  const std::vector<int64_t>& ends = cursor->batch.end_ns;
  cursor->order.clear();
  if (std::adjacent_find(ends.begin(), ends.end()) == ends.end()) return;
  cursor->order.resize(ends.size());
  std::iota(cursor->order.begin(), cursor->order.end(), 0u);
  auto before = [&](uint32_t a, uint32_t b) {
    return compare_ends(extent_at(cursor->batch, a, levels_, false),
                        extent_at(cursor->batch, b, levels_, false)) < 0;
  };
  for (size_t begin = 0; begin < ends.size();) {
    size_t end = begin + 1;
    while (end < ends.size() && ends[end] == ends[begin]) ++end;
    const auto first = cursor->order.begin();
    std::stable_sort(first + static_cast<std::ptrdiff_t>(begin),
                     first + static_cast<std::ptrdiff_t>(end), before);
    begin = end;
  }
}

size_t Merge::find_run_end(const Cursor& cursor, size_t run_max) const {
  const size_t limit = std::min(cursor.batch.size(), cursor.position + run_max);
  if (heap_.size() == 1) return limit;
  const Cursor* other = heap_[1];
  if (heap_.size() > 2 && comes_before(*heap_[2], *other)) other = heap_[2];
  for (size_t at = cursor.position + 1; at < limit; ++at) {
    const size_t row = cursor.row_at(at);
    const int64_t end_ns = cursor.batch.end_ns[row];
    if (end_ns < other->head.end_ns) continue;
    if (end_ns > other->head.end_ns) return at;
    const int order = compare_ends(extent_at(cursor.batch, row, levels_, false), other->head);
    if (order > 0 || (order == 0 && cursor.number > other->number)) return at;
  }
  return limit;
}

void Merge::sink() {
  size_t at = 0;
  for (;;) {
    size_t least = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_.size(); ++child) {
      if (comes_before(*heap_[child], *heap_[least])) least = child;
    }
    if (least == at) return;
    std::swap(heap_[at], heap_[least]);
    at = least;
  }
}

}  // namespace xsp::correlate
