// Defines each counter as a sum over the chip's own metrics, each times a factor.
//
// The table is in counting_formulae.cc; docs/counters.md describes it. A counter of the set
// `roofline` has one or several formulae, for chips that name their metrics differently; the first
// one whose metrics all exist on the chip is used. Any other counter is a metric of the chip by its
// own name ("dram__bytes_read.sum"), with the factor one.
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
// The sum of all other counters whose names end in "_flops".
inline constexpr const char* kFlops = "flops";

// Returns the formulae of the set `roofline`, in the order in which its counters are shown. The
// rows of one counter are adjacent, with the preferred one first.
const std::vector<Formula>& roofline_formulae();

// Holds the metrics to count, and the formulae of the counters from them.
struct CounterPlan {
  struct Weighted {
    size_t metric;  // index into metrics
    double factor;
  };
  struct Counter {
    std::string name;
    std::vector<Weighted> terms;
  };
  std::vector<std::string> metrics;  // without duplicates
  std::vector<Counter> counters;
  std::vector<std::string> absent;  // counters of a set that this chip has no metric for
};

// Returns the plan for `names`: sets, their counters, and metrics of the chip. `has_metric` tells
// whether the chip has a metric of that full name. `unknown` receives the names that are none of
// these.
CounterPlan plan_counters(const std::vector<std::string>& names,
                          const std::function<bool(const std::string&)>& has_metric,
                          std::vector<std::string>* unknown);

// Returns whether the counter needs instrumented code of the kernel; kernels of a CUDA graph are
// not instrumented.
bool needs_instrumented_code(const CounterPlan& plan, const CounterPlan::Counter& counter);

// Computes the counters from the metrics' values, which are in the order of plan.metrics.
std::vector<double> evaluate(const CounterPlan& plan, const std::vector<double>& metrics);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_FORMULAE_H_
