#ifndef XSP_TESTS_FUZZ_REQUIRE_H_
#define XSP_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

// Ends the fuzzer, which then keeps its input, if a property of a parser's answer does not hold.
inline void require(bool condition) {
  if (!condition) std::abort();
}

#endif  // XSP_TESTS_FUZZ_REQUIRE_H_
