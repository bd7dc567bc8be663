// How many random cases a test of many tries.
#ifndef XSP_BASE_TESTING_H_
#define XSP_BASE_TESTING_H_

#include <cstdint>

namespace xsp {

// All of them, but a quarter with sanitizers, which make each take many times as long: test.sh runs
// such tests without them as well.
constexpr uint64_t random_cases(uint64_t all) {
#ifdef __SANITIZE_ADDRESS__
  return all / 4;
#else
  return all;
#endif
}

}  // namespace xsp

#endif  // XSP_BASE_TESTING_H_
