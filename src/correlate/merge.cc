#include "correlate/merge.h"

#include <algorithm>
#include <numeric>

namespace xsp::correlate {

Merge::Merge(std::vector<std::unique_ptr<Feed>> feeds, const std::vector<uint8_t>& levels)
    : levels_(levels) {
  cursors_.resize(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    cursors_[i].number = i;
    cursors_[i].given_times = feeds[i]->given_times();
    cursors_[i].is_open = feeds[i]->is_open();
    cursors_[i].feed = std::move(feeds[i]);
  }
}

uint64_t Merge::damaged_chunks() const {
  uint64_t sum = 0;
  for (const Cursor& cursor : cursors_) sum += cursor.feed->damaged_chunks();
  return sum;
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

Result<bool> Merge::load(Cursor* cursor) {
  cursor->position = 0;
  XSP_TRY(const bool more, cursor->feed->next(&cursor->batch));
  if (!more) return false;
  check_order(cursor);
  index_values(cursor);
  set_head(cursor);
  return true;
}

// Spans that end at the same tick come in any order; they are put in that of the rules.
void Merge::check_order(Cursor* cursor) {
  const trace::SpanBatch& batch = cursor->batch;
  const size_t count = batch.size();
  bool disordered = batch.end_ns[0] < cursor->last_end_ns;
  bool ties = false;
  for (size_t i = 1; i < count; ++i) {
    disordered |= batch.end_ns[i] < batch.end_ns[i - 1];
    ties |= batch.end_ns[i] == batch.end_ns[i - 1];
  }
  cursor->last_end_ns = batch.end_ns[count - 1];
  if (disordered && !cursor->disordered) {
    cursor->disordered = true;
    disordered_.push_back(cursor->number);
  }
  cursor->order.clear();
  if (!ties) return;
  cursor->order.resize(count);
  std::iota(cursor->order.begin(), cursor->order.end(), 0u);
  auto before = [&](uint32_t a, uint32_t b) {
    return compare_ends(extent_at(batch, a, levels_, false), extent_at(batch, b, levels_, false)) <
           0;
  };
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && batch.end_ns[end] == batch.end_ns[begin]) ++end;
    const auto first = cursor->order.begin();
    if (end - begin > 1) {
      std::stable_sort(first + static_cast<std::ptrdiff_t>(begin),
                       first + static_cast<std::ptrdiff_t>(end), before);
    }
    begin = end;
  }
}

void Merge::index_values(Cursor* cursor) {
  cursor->first_value.clear();
  auto& values = cursor->batch.values;
  if (values.empty()) return;
  auto by_span = [](const trace::SpanValue& a, const trace::SpanValue& b) {
    return a.span < b.span;
  };
  if (!std::is_sorted(values.begin(), values.end(), by_span)) {
    std::stable_sort(values.begin(), values.end(), by_span);
  }
  cursor->first_value.resize(cursor->batch.size() + 1, 0);
  for (const trace::SpanValue& value : values) ++cursor->first_value[value.span + size_t{1}];
  std::partial_sum(cursor->first_value.begin(), cursor->first_value.end(),
                   cursor->first_value.begin());
}

Run Merge::next_run() const {
  const Cursor& cursor = *heap_[0];
  Run run;
  run.batch = &cursor.batch;
  run.order = cursor.order.empty() ? nullptr : cursor.order.data();
  run.first_value = cursor.first_value.empty() ? nullptr : cursor.first_value.data();
  run.begin = cursor.position;
  run.end = cursor.batch.size();
  run.given_times = cursor.given_times;
  run.is_open = cursor.is_open;
  if (heap_.size() == 1) return run;
  const Cursor* other = heap_[1];
  if (heap_.size() > 2 && comes_before(*heap_[2], *other)) other = heap_[2];
  const int64_t limit_ns = other->head.end_ns;
  for (size_t at = run.begin + 1; at < run.end; ++at) {
    const size_t row = cursor.row_at(at);
    const int64_t end_ns = cursor.batch.end_ns[row];
    if (end_ns < limit_ns) continue;
    if (end_ns == limit_ns) {
      const Extent extent = extent_at(cursor.batch, row, levels_, cursor.given_times);
      const int order = compare_ends(extent, other->head);
      if (order != 0 ? order < 0 : cursor.number < other->number) continue;
    }
    run.end = at;
    break;
  }
  return run;
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

void Merge::pop() {
  heap_[0] = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sink();
}

}  // namespace xsp::correlate
