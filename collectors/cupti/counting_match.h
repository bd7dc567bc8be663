// Assigns ranges of counters to launches. Pure functions.
//
// Ranges are numbered in the order of execution, and launches are recorded in the order in which
// their calls returned: the n-th range belongs to the n-th launch. With application replay every
// pass is another inference, and a range is a sum over passes; it is valid only as far as all
// passes launched the same kernels.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::cupti {

struct Matched {
  size_t usable = 0;       // number of launches, from the first, whose ranges are valid
  std::string problem;     // why not all launches, one line; empty if all
  const char* cause = "";  // the same in a few words, for the table of losses
};

// `passes`: the launches of each pass, as indices of kernels. `ranges`: the number of counted
// ranges. `capacity`: the number of ranges that there was room for.
Matched match(const std::vector<std::vector<uint32_t>>& passes, size_t ranges, size_t capacity);

// Returns the length of the sequence that repeats at the end of `kernels`. If there are several
// such lengths, returns the one whose repetitions cover the most, then the shortest. This is the
// number of launches of one inference, if several have run. Returns 0 if `kernels` does not end in
// a repetition.
size_t repeated_length(const std::vector<uint32_t>& kernels);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_
