#include "collectors/cupti/counting_match.h"

#include <algorithm>

namespace xsp::cupti {
namespace {

// Returns the number of launches with which all passes begin.
size_t common_beginning(const std::vector<std::vector<uint32_t>>& passes, size_t* odd_pass) {
  size_t common = passes.front().size();
  for (size_t i = 1; i < passes.size(); ++i) {
    const auto& first = passes.front();
    const auto& other = passes[i];
    const size_t limit = std::min(common, other.size());
    const auto differs =
        std::mismatch(first.begin(), first.begin() + static_cast<long>(limit), other.begin());
    const auto same = static_cast<size_t>(differs.first - first.begin());
    if (same < common || other.size() != first.size()) *odd_pass = i;
    common = same;
  }
  return common;
}

}  // namespace

size_t repeated_length(const std::vector<uint32_t>& kernels) {
  // The text is the sequence in reverse. same[n] is the length of the longest common prefix of the
  // text and its suffix from n on (the Z-function, in linear time). A repetition by n covers n +
  // same[n]. Equal layers within an inference repeat, too, but cover less.
  const std::vector<uint32_t> text(kernels.rbegin(), kernels.rend());
  std::vector<size_t> same(text.size());
  size_t best = 0;
  for (size_t n = 1, left = 0, right = 0; n < text.size(); ++n) {
    if (n < right) same[n] = std::min(right - n, same[n - left]);
    while (n + same[n] < text.size() && text[same[n]] == text[n + same[n]]) ++same[n];
    if (n + same[n] > right) {
      left = n;
      right = n + same[n];
    }
    if (same[n] >= n && (best == 0 || n + same[n] > best + same[best])) best = n;
  }
  return best;
}

Matched match(const std::vector<std::vector<uint32_t>>& passes, size_t ranges, size_t capacity) {
  Matched result;
  if (passes.empty()) return result;
  const size_t launches = passes.front().size();
  size_t odd_pass = 0;
  result.usable = common_beginning(passes, &odd_pass);
  if (odd_pass != 0) {
    result.cause = "inferences differ in their kernels";
    result.problem = "counters: inference " + std::to_string(odd_pass + 1) +
                     " launched other kernels than the first, from launch " +
                     std::to_string(result.usable + 1) + " of " + std::to_string(launches) +
                     " on: these have no counters: use --replay kernel";
    return result;
  }
  if (ranges == launches) return result;
  if (ranges < launches && ranges == capacity) {
    result.usable = ranges;
    result.cause = "no room for counters";
    result.problem = "counters: room for " + std::to_string(ranges) + " of " +
                     std::to_string(launches) + " kernels: the others have none in this inference";
    return result;
  }
  result.usable = 0;
  result.cause = "launches and counted ranges differ in number";
  result.problem = "counters: " + std::to_string(launches) + " launches were seen and " +
                   std::to_string(ranges) +
                   " ranges counted: none can be told apart, so there are "
                   "no counters for this inference";
  return result;
}

}  // namespace xsp::cupti
