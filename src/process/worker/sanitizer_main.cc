// Defaults of AddressSanitizer and LeakSanitizer for programs that load frameworks.
//
// The runtime of g++ 12 guesses where a library's thread-local block begins from the bytes before
// it, and guesses wrong for about one in 256 blocks. The leak check at exit then reads at an
// invalid address and fails the process. With this option it does not treat such blocks as places
// that hold memory, which is the stricter choice.
extern "C" const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}

// PoCL never frees some of what it allocates when it compiles a kernel, which it does once for each
// machine: compiled kernels are in its cache. A thread of a framework that is still beginning when
// the process ends has not yet freed what AddressSanitizer's pthread_getattr_np allocated for it.
extern "C" const char* __lsan_default_suppressions();
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libpocl.so\nleak:pthread_getattr_np\n";
}
