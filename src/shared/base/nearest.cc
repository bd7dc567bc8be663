#include "shared/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace xsp {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Computes Levenshtein's distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view word,
                                 const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  const size_t allowed = std::max<size_t>(1, wanted.size() / 3);
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string& candidate : candidates) {
    const std::string other = lower(candidate);
    const size_t distance = edit_distance(wanted, other);
    if (distance <= allowed) {
      found.emplace_back(distance, candidate);
    } else if (wanted.size() >= 3 && other.find(wanted) != std::string::npos) {
      found.emplace_back(allowed + 1, candidate);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (auto& [distance, candidate] : found) {
    if (result.size() < 3) result.push_back(std::move(candidate));
  }
  return result;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise) {
  std::string text;
  for (const std::string& candidate : nearest(word, candidates)) {
    text += (text.empty() ? "did you mean '" : ", '") + candidate + "'";
  }
  return text.empty() ? std::string(otherwise) : text + "?";
}

}  // namespace xsp
