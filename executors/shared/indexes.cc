#include "executors/shared/indexes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "shared/base/words.h"

namespace xsp::executors {

Ranges ranges_of(std::span<const size_t> indexes, size_t most, size_t bytes) {
  Ranges ranges;
  indexes = indexes.first(std::min(indexes.size(), most));
  while (ranges.count < indexes.size()) {
    size_t end = ranges.count + 1;
    while (end < indexes.size() && indexes[end] == indexes[end - 1] + 1) ++end;
    std::string range = (ranges.count == 0 ? "" : ",") + std::to_string(indexes[ranges.count]);
    if (end > ranges.count + 1) range += "-" + std::to_string(indexes[end - 1]);
    if (ranges.text.size() + range.size() > bytes) break;
    ranges.text += range;
    ranges.count = end;
  }
  return ranges;
}

std::vector<size_t> indexes_of(std::string_view text, size_t most) {
  std::vector<size_t> all;
  for (const std::string& part : split(text, ',')) {
    const size_t dash = part.find('-');
    const size_t first = number_of(part.substr(0, dash));
    const size_t last = dash == std::string::npos ? first : number_of(part.substr(dash + 1));
    for (size_t i = first; i <= last && i < SIZE_MAX && all.size() < most; ++i) all.push_back(i);
  }
  return all;
}

size_t number_of(std::string_view text) {
  size_t number = SIZE_MAX;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace xsp::executors
