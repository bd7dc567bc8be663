# The metrics of every metrics/NAME.cc, collected into all_metrics().
file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/metrics/*.cc")
set(declarations "")
set(calls "")
foreach(file ${files})
  get_filename_component(metric "${file}" NAME_WE)
  string(APPEND declarations "std::vector<Metric> ${metric}_metrics();\n")
  string(APPEND calls "    ${metric}_metrics(),\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/all_metrics.cc" @ONLY CONTENT
"// Generated from the names of metrics/*.cc.
#include <algorithm>

#include \"metrics/shared/metric.h\"

namespace xsp::metrics {

@declarations@
std::vector<Metric> all_metrics() {
  std::vector<Metric> all;
  for (const std::vector<Metric>& some : {
@calls@  }) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end(), [](const Metric& a, const Metric& b) { return a.name < b.name; });
  return all;
}

}  // namespace xsp::metrics
")
target_sources(xsp_metrics PRIVATE "${CMAKE_BINARY_DIR}/generated/all_metrics.cc")
