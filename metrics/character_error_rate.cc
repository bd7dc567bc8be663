// The character error rate: the edits (V. I. Levenshtein 1966: insertions, deletions and
// substitutions of a code point) that turn the texts into the right ones, over the right ones'
// characters. It may exceed 1.
#include <algorithm>
#include <numeric>

#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

// Returns the code points of UTF-8. A byte that begins none stands for itself.
std::vector<uint32_t> code_points(const std::string& text) {
  std::vector<uint32_t> points;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xC0) == 0x80 && !points.empty();
    if (continues) {
      points.back() = points.back() << 8 | byte;
    } else {
      points.push_back(byte);
    }
  }
  return points;
}

size_t edits(const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

Result<Score> character_error_rate(std::span<const Pair> pairs, uint64_t seed) {
  // The time grows with the product of the lengths.
  constexpr size_t kCharactersMax = 20'000;
  std::vector<Part> parts;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<uint32_t> from = code_points(pairs[i].predicted.text);
    const std::vector<uint32_t> to = code_points(pairs[i].right.text);
    if (std::max(from.size(), to.size()) > kCharactersMax) {
      return failed(item_text(i) + "has more than " + std::to_string(kCharactersMax) +
                    " characters: divide it into lines");
    }
    parts.push_back({static_cast<double>(edits(from, to)), static_cast<double>(to.size())});
  }
  return ratio(parts, seed, "the items have no right text");
}

}  // namespace

std::vector<Metric> character_error_rate_metrics() {
  return {{"cer",
           "character error rate",
           "The edits that turn the texts into the right ones, for each right character.",
           kBootstrap,
           "",
           {"text-recognition", "speech-recognition"},
           character_error_rate}};
}

}  // namespace xsp::metrics
