// Counting: hardware counters of kernels, for runs that name counters. Such a run is handed to the
// functions declared here, and is not traced.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_H_

#include <string>
#include <vector>

#include "collectors/cupti/library.h"
#include "xsp/plugin.h"

namespace xsp::cupti {

// Returns the counters that can be counted here, "roofline" among them. If there are none, *absent
// receives the reason.
std::vector<std::string> countable(const Library& library, std::string* absent);
// Returns every name that can be counted, including the chip's own metrics.
std::vector<std::string> counter_names(const Library& library, std::string* absent);

// The calls of xsp_collector, for a run with counters. `library` outlives the run.
xsp_status start_counting(const xsp_host* host, const Library& library,
                          const xsp_collect_options& options);
void begin_counting();
void end_counting(xsp_span* span);
xsp_status stop_counting();
// Returns the number of inferences after which everything has been counted once.
uint64_t runs_needed();

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_H_
