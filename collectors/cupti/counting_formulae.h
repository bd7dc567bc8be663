// What each counter is: a sum over the chip's own metrics, each times a factor.
//
// The table is in counting_formulae.cc, and docs/counters.md is its prose. A counter of the set
// `roofline` has one formula or several, for chips that name their metrics differently; the first
// whose metrics the chip all has is taken. Any other counter is a metric of the chip by its own
// name ("dram__bytes_read.sum"), factor one.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_FORMULAE_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_FORMULAE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::cupti {

struct Term {
  const char* metric = nullptr;  // null: no further term
  double factor = 0;
};

struct Formula {
  const char* counter;
  Term terms[4];
};

inline constexpr const char* kRoofline = "roofline";
// The sum of every other counter whose name ends in "_flops".
inline constexpr const char* kFlops = "flops";

// The formulae of the set `roofline`, in the order in which its counters are shown. Rows of one
// counter follow each other, the preferred one first.
const std::vector<Formula>& roofline_formulae();

// Which metrics to have counted, and how the counters follow from them.
struct CounterPlan {
  struct Weighted {
    size_t metric;  // index into metrics
    double factor;
  };
  struct Counter {
    std::string name;
    std::vector<Weighted> terms;
  };
  std::vector<std::string> metrics;  // each once
  std::vector<Counter> counters;
  std::vector<std::string> absent;  // counters of a set that this chip has no metric for
};

// The plan for `names`: sets, their counters, and metrics of the chip. `has_metric` says whether
// the chip has a metric of that full name. `unknown` receives the names that are none of these.
CounterPlan plan_counters(const std::vector<std::string>& names,
                          const std::function<bool(const std::string&)>& has_metric,
                          std::vector<std::string>* unknown);

// Whether the counter needs the kernel's code to be instrumented, which the kernels of a CUDA graph
// are not.
bool needs_instrumented_code(const CounterPlan& plan, const CounterPlan::Counter& counter);

// The counters' values from the metrics' values, which are in the order of plan.metrics.
std::vector<double> evaluate(const CounterPlan& plan, const std::vector<double>& metrics);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_FORMULAE_H_
