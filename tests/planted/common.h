// Shared by the planted programs in C++: their options, their loop, and the printed rate.
#ifndef XSP_TESTS_PLANTED_COMMON_H_
#define XSP_TESTS_PLANTED_COMMON_H_

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The function exists only under `xsp run`, because the program is linked without xsp.
extern "C" void xsp_step(void) __attribute__((weak));

namespace planted {

struct Options {
  bool is_mended = false;
  double seconds = 5;
  long steps = 0;  // 0: as many as fit into the seconds

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const bool has_value = i + 1 < argc;
      if (std::strcmp(argv[i], "--mended") == 0) {
        is_mended = true;
      } else if (has_value && std::strcmp(argv[i], "--seconds") == 0) {
        seconds = std::atof(argv[++i]);
      } else if (has_value && std::strcmp(argv[i], "--steps") == 0) {
        steps = std::atol(argv[++i]);
      } else {
        std::fprintf(stderr, "usage: %s [--mended] [--seconds S] [--steps N]\n", argv[0]);
        std::exit(2);
      }
    }
  }
};

constexpr int kSkipped = 77;  // the exit status of a program that cannot run here

// Calls `step` until the time is over and prints the rate of the steady steps; `finish` waits for
// the device, if there is one.
template <typename Step, typename Finish>
void repeat(const Options& options, Step step, Finish finish) {
  using std::chrono::steady_clock;
  constexpr double kWarmShare = 0.25;
  constexpr long kWarmSteps = 3;
  const auto seconds_since = [](steady_clock::time_point from) {
    return std::chrono::duration<double>(steady_clock::now() - from).count();
  };
  const auto begin = steady_clock::now();
  steady_clock::time_point steady;
  long first = -1;
  long done = 0;
  for (;; ++done) {
    const double share = options.steps > 0
                             ? static_cast<double>(done) / static_cast<double>(options.steps)
                             : seconds_since(begin) / options.seconds;
    if (first < 0 && share >= kWarmShare && done >= kWarmSteps) {
      finish();
      steady = steady_clock::now();
      first = done;
    } else if (first >= 0 && share >= 1 && done > first) {
      break;
    }
    step();
    if (xsp_step != nullptr) xsp_step();
  }
  finish();
  std::printf("steps_per_second %.6g\n", static_cast<double>(done - first) / seconds_since(steady));
}

template <typename Step>
void repeat(const Options& options, Step step) {
  repeat(options, step, [] {});
}

}  // namespace planted

#endif  // XSP_TESTS_PLANTED_COMMON_H_
