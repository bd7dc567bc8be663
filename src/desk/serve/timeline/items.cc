#include "desk/serve/timeline/items.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace xsp::serve {
namespace {

constexpr int64_t kBefore = -1;  // the cell of items that start before the window

// Collects the items of one row, in the order of their starts.
class Row {
 public:
  Row(const TimelineWindow& window, std::vector<TimelineItem>* out) : window_(window), out_(out) {}
  ~Row() { finish(); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  void add(const TimelineItem& item) {
    if (item.start_ns >= window_.end_ns()) return;
    const bool is_long = item.count == 1 && item.duration_ns() >= window_.cell_ns;
    if (item.start_ns < window_.start_ns) {
      if (is_long && item.end_ns > window_.start_ns) add_long(item, kBefore);
      return;
    }
    const int64_t cell = (item.start_ns - window_.start_ns) / window_.cell_ns;
    is_long ? add_long(item, cell) : add_short(item, cell);
  }

 private:
  void add_long(TimelineItem item, int64_t cell) {
    if (long_ && long_cell_ == cell) {
      if (item.duration_ns() > long_->duration_ns()) std::swap(item, *long_);
      // A span that began before the window is counted in the tile where it began.
      if (cell != kBefore) add_short(item, cell);
      return;
    }
    if (long_) out_->push_back(*long_);
    long_ = item;
    long_cell_ = cell;
  }

  void add_short(const TimelineItem& item, int64_t cell) {
    if (!short_ || short_cell_ != cell) {
      if (short_) out_->push_back(*short_);
      short_ = item;
      short_cell_ = cell;
      longest_ns_ = item.count == 1 ? item.duration_ns() : item.busy_ns / item.count;
      return;
    }
    const int64_t longest = item.count == 1 ? item.duration_ns() : item.busy_ns / item.count;
    if (longest > longest_ns_) {
      longest_ns_ = longest;
      std::tie(short_->span_id, short_->name, short_->type) =
          std::tie(item.span_id, item.name, item.type);
    }
    short_->start_ns = std::min(short_->start_ns, item.start_ns);
    short_->end_ns = std::max(short_->end_ns, item.end_ns);
    short_->busy_ns += item.busy_ns;
    short_->count += item.count;
  }

  void finish() {
    if (long_) out_->push_back(*long_);
    if (short_) out_->push_back(*short_);
  }

  const TimelineWindow& window_;
  std::vector<TimelineItem>* out_;
  std::optional<TimelineItem> long_;
  std::optional<TimelineItem> short_;
  int64_t long_cell_ = kBefore;
  int64_t short_cell_ = kBefore;
  int64_t longest_ns_ = 0;
};

auto order_of(const TimelineItem& item) {
  return std::tie(item.lane, item.row, item.start_ns, item.span_id);
}

}  // namespace

uint32_t TextTable::number(std::string_view text) {
  const auto next = static_cast<uint32_t>(texts_.size());
  const auto [found, is_new] = numbers_.try_emplace(std::string(text), next);
  if (is_new) {
    texts_.emplace_back(text);
    bytes_ += 2 * text.size() + 128;
  }
  return found->second;
}

void sort_items(std::vector<TimelineItem>* items) {
  std::sort(items->begin(), items->end(),
            [](const TimelineItem& a, const TimelineItem& b) { return order_of(a) < order_of(b); });
}

std::vector<TimelineItem> fold(const std::vector<TimelineItem>& items,
                               const TimelineWindow& window) {
  std::vector<TimelineItem> out;
  for (size_t begin = 0; begin < items.size();) {
    Row row(window, &out);
    size_t end = begin;
    for (; end < items.size() && items[end].lane == items[begin].lane &&
           items[end].row == items[begin].row;
         ++end) {
      row.add(items[end]);
    }
    begin = end;
  }
  sort_items(&out);
  return out;
}

}  // namespace xsp::serve
