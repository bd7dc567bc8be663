// Writes and reads the numbers of units in short: "0-2,5" for 0, 1, 2 and 5.
#ifndef XSP_EXECUTORS_SHARED_INDEXES_H_
#define XSP_EXECUTORS_SHARED_INDEXES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::executors {

struct Ranges {
  std::string text;
  size_t count = 0;  // the numbers that it has
};

// Writes the first numbers, at most `most`, as long as the text has no more than `bytes`.
Ranges ranges_of(std::span<const size_t> indexes, size_t most, size_t bytes);

// Returns the numbers of such a text, at most `most`.
std::vector<size_t> indexes_of(std::string_view text, size_t most);

// Returns the number at the beginning of a text; SIZE_MAX: none is there.
size_t number_of(std::string_view text);

}  // namespace xsp::executors

#endif  // XSP_EXECUTORS_SHARED_INDEXES_H_
