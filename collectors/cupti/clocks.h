// Converts times of CUPTI's clock to the trace's clock. The two clocks are read together from time
// to time, and times between two readings are interpolated.
//
// Thread rule: one thread at a time.
//
// The readings are at the start, at the end, and before each buffer is converted. A timestamp
// callback would make the conversion needless, but gives zero times in CUPTI 12.6 to 13.1.
#ifndef XSP_COLLECTORS_CUPTI_CLOCKS_H_
#define XSP_COLLECTORS_CUPTI_CLOCKS_H_

#include <cstdint>
#include <vector>

#include "collectors/cupti/library.h"

namespace xsp::cupti {

class Clocks {
 public:
  // Adds readings of both clocks at one moment. They are ignored unless they are later than all
  // before.
  void add(uint64_t cupti_ns, int64_t xsp_ns);
  // Reads both clocks. Returns false if CUPTI's clock cannot be read.
  bool sample(const Functions& functions);
  // Converts nanoseconds of CUPTI's clock to xsp_now_ns's clock. Before the first and after the
  // last reading, the offset of the nearest reading applies.
  int64_t to_xsp(uint64_t cupti_ns) const;

 private:
  struct Reading {
    uint64_t cupti_ns;
    int64_t offset_ns;  // the trace's clock is ahead by this
  };
  std::vector<Reading> readings_;  // ascending
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_CLOCKS_H_
