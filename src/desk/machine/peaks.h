// Peaks: ceilings of the machine, measured on the machine itself: the highest rates of arithmetic
// and of memory traffic under ideal conditions.
//
// Thread rule: call from one thread; it starts threads of its own and joins them.
#ifndef XSP_DESK_MACHINE_PEAKS_H_
#define XSP_DESK_MACHINE_PEAKS_H_

#include <string>
#include <vector>

namespace xsp::machine {

struct Peak {
  std::string device;  // "cpu", "cuda:0"
  std::string name;    // "fp32_flops_per_s", "memory_bytes_per_s", ...
  double value = 0;
  std::string source = "measured";  // or "attribute", for a device's attribute
};

struct PeakReport {
  std::vector<Peak> peaks;
  std::string instruction_set;  // used for the rates: "avx512f", "avx2+fma", ...
  int threads = 0;
};

// Takes less than two seconds. Rates of arithmetic are medians of several trials, by the threads'
// own processor time, which the load of other programs does not change. Rates of memory are the
// best of several trials. Measures with `threads` threads (one for each processor is the useful
// maximum), and with one thread, under names with _1_thread.
PeakReport measure_peaks(int threads);

}  // namespace xsp::machine

#endif  // XSP_DESK_MACHINE_PEAKS_H_
