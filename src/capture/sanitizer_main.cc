// Defaults of AddressSanitizer for programs that load frameworks. g++ 12's runtime guesses where a
// library's thread-local block begins from what lies before it, and about once in 256 blocks
// guesses wrong: then the search for leaks reads at an address that is none, at exit, and fails the
// process. Left to itself it counts such blocks as no place that holds memory, which is the
// stricter of the two.
extern "C" const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
