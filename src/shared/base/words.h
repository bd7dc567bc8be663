// Functions that join lists of words into one text, and split it.
#ifndef XSP_SHARED_BASE_WORDS_H_
#define XSP_SHARED_BASE_WORDS_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace xsp {

// Returns "a, b, c": texts or numbers, with a separator between two of them.
template <typename Word>
std::string joined(const std::vector<Word>& words, std::string_view separator = ", ") {
  std::string text;
  for (const Word& word : words) {
    if (&word != words.data()) text += separator;
    if constexpr (std::is_arithmetic_v<Word>) {
      text += std::to_string(word);
    } else {
      text += word;
    }
  }
  return text;
}

// Returns the parts between separators, without the empty ones.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_WORDS_H_
