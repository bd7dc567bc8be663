// CallNumbers: finds the iteration of a model call by its thread and its time.
#ifndef XSP_DESK_CORRELATE_CALL_NUMBERS_H_
#define XSP_DESK_CORRELATE_CALL_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "desk/correlate/steps.h"

namespace xsp::correlate {

class CallNumbers {
 public:
  explicit CallNumbers(std::vector<ModelCall> calls) : calls_(std::move(calls)) {
    std::sort(calls_.begin(), calls_.end(),
              [](const ModelCall& a, const ModelCall& b) { return place_of(a) < place_of(b); });
  }

  // Returns the iteration of the call with exactly this interval on this thread, or `otherwise` if
  // there is none.
  int64_t find(uint32_t thread, int64_t start_ns, int64_t end_ns, int64_t otherwise) const {
    const ModelCall wanted = {start_ns, end_ns, thread, 0};
    const auto found = std::lower_bound(
        calls_.begin(), calls_.end(), wanted,
        [](const ModelCall& a, const ModelCall& b) { return place_of(a) < place_of(b); });
    const bool is_there = found != calls_.end() && place_of(*found) == place_of(wanted);
    return is_there ? found->iteration : otherwise;
  }

 private:
  static std::tuple<uint32_t, int64_t, int64_t> place_of(const ModelCall& call) {
    return {call.thread, call.start_ns, call.end_ns};
  }

  std::vector<ModelCall> calls_;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_CALL_NUMBERS_H_
