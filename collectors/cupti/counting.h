// Counting: hardware counters of kernels, for runs that name counters. Such a run is handed over to
// what is declared here, instead of being traced.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_H_

#include <string>
#include <vector>

#include "collectors/cupti/library.h"
#include "xsp/plugin.h"

namespace xsp::cupti {

// The counters that can be counted here, "roofline" among them; none, and why in *absent, if none
// can.
std::vector<std::string> countable(const Library& library, std::string* absent);
// Every name that can be counted, the chip's own metrics too.
std::vector<std::string> counter_names(const Library& library, std::string* absent);

// The calls of xsp_collector, for a run with counters. `library` outlives the run.
xsp_status start_counting(const xsp_host* host, const Library& library,
                          const xsp_collect_options& options);
void begin_counting();
void end_counting(xsp_span* span);
xsp_status stop_counting();
// How many inferences count everything once.
uint64_t runs_needed();

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_H_
