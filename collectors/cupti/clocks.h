// From CUPTI's clock to the trace's: the two are read together now and then, and times between two
// readings are interpolated.
//
// Thread rule: one thread at a time.
#ifndef XSP_COLLECTORS_CUPTI_CLOCKS_H_
#define XSP_COLLECTORS_CUPTI_CLOCKS_H_

#include <cstdint>
#include <vector>

#include "collectors/cupti/library.h"

namespace xsp::cupti {

class Clocks {
 public:
  // Both clocks' readings of one moment; later than all before, else it is ignored.
  void add(uint64_t cupti_ns, int64_t xsp_ns);
  // Reads both clocks. False if CUPTI's cannot be read.
  bool sample(const Functions& functions);
  // Nanoseconds of UNIX time on xsp_now_ns's clock. Before the first and after the last reading the
  // nearest one's offset holds.
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
