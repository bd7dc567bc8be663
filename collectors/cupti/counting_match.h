// Which launch a range of counters belongs to. Pure.
//
// Ranges are numbered in the order of execution, and launches are recorded in the order in which
// their calls returned: the n-th belongs to the n-th. With application replay every pass is another
// inference, and a range is a sum over passes: it means something as far as all of them launched
// the same.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::cupti {

struct Matched {
  size_t usable = 0;       // the first so many launches have the counters of the same range
  std::string problem;     // why not all, one line; empty: all
  const char* cause = "";  // the same for the table of losses: a few words
};

// `passes`: what was launched in each, as indices of kernels. `ranges`: how many were counted;
// `capacity`: for how many there was room.
Matched match(const std::vector<std::vector<uint32_t>>& passes, size_t ranges, size_t capacity);

// The length of the sequence that `kernels` ends in repetitions of: of several such lengths, the
// one whose repetitions cover the most, then the shortest. The launches of one inference, if
// several have been run. 0: it does not end in a repetition.
size_t repeated_length(const std::vector<uint32_t>& kernels);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_MATCH_H_
