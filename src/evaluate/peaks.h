// Peaks: ceilings of the machine, measured on the machine itself: how fast it can compute and how
// fast it can move memory, under the best of conditions.
//
// Thread rule: call from one thread; it starts threads of its own and joins them.
#ifndef XSP_EVALUATE_PEAKS_H_
#define XSP_EVALUATE_PEAKS_H_

#include <string>
#include <vector>

namespace xsp::evaluate {

struct Peak {
  std::string device;  // "cpu", "cuda:0"
  std::string name;    // "fp32_flops_per_s", "memory_bytes_per_s", ...
  double value = 0;
  std::string source = "measured";  // or "attribute", of the device
};

struct PeakReport {
  std::vector<Peak> peaks;
  std::string instruction_set;  // that the rates were reached with: "avx512f", "avx2+fma", ...
  int threads = 0;
};

// Takes less than two seconds. Rates of arithmetic are medians of several trials by the threads'
// own processor time, which others' load does not touch; rates of memory are the best of several
// trials. On that many threads (one for each processor is the most that makes sense), and, with
// _1_thread in the name, on one.
PeakReport measure_peaks(int threads);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_PEAKS_H_
