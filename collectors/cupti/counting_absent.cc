// Counters are not part of this build.
#include "collectors/cupti/counting.h"
#include "xsp/plugin.hpp"

namespace xsp::cupti {

std::vector<std::string> countable(const Library&, std::string* absent) {
  *absent = "hardware counters: not part of this build";
  return {};
}
std::vector<std::string> counter_names(const Library&, std::string*) { return {}; }

xsp_status start_counting(const xsp_host* host, const Library&, const xsp_collect_options&) {
  return fail(host, XSP_NOT_AVAILABLE, "counters: not part of this build: leave --counters out");
}
void begin_counting() {}
void end_counting(xsp_span*) {}
xsp_status stop_counting() { return XSP_OK; }
uint64_t runs_needed() { return 1; }

}  // namespace xsp::cupti
