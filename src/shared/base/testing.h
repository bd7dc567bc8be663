// The number of random cases that a randomised test runs.
#ifndef XSP_SHARED_BASE_TESTING_H_
#define XSP_SHARED_BASE_TESTING_H_

#include <cstdint>

namespace xsp {

// Returns `all`, but a quarter of it with sanitizers, which make each case many times slower:
// test.sh also runs such tests without them.
constexpr uint64_t random_cases(uint64_t all) {
#ifdef __SANITIZE_ADDRESS__
  return all / 4;
#else
  return all;
#endif
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_TESTING_H_
