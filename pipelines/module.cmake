# The steps of every pipelines/NAME.cc, collected into all_steps(). If pipelines/NAME.cmake exists, it is included; it
# may find the step's libraries, or set XSP_SKIP to the reason why the step cannot be built here.
file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/pipelines/*.cc")
set(declarations "")
set(calls "")
foreach(file ${files})
  get_filename_component(step "${file}" NAME_WE)
  set(XSP_SKIP "")
  include("${CMAKE_SOURCE_DIR}/pipelines/${step}.cmake" OPTIONAL)
  if(XSP_SKIP)
    message(STATUS "pipelines/${step}: skipped: ${XSP_SKIP}")
    set_source_files_properties("${file}" PROPERTIES HEADER_FILE_ONLY ON)
  else()
    string(APPEND declarations "StepKind ${step}_step();\n")
    string(APPEND calls "      ${step}_step(),\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/all_steps.cc" @ONLY CONTENT
"// Generated from the names of pipelines/*.cc.
#include <algorithm>

#include \"pipelines/shared/step.h\"

namespace xsp::pipelines {

@declarations@
std::vector<StepKind> all_steps() {
  std::vector<StepKind> all = {
@calls@  };
  std::sort(all.begin(), all.end(), [](const StepKind& a, const StepKind& b) { return a.name < b.name; });
  return all;
}

}  // namespace xsp::pipelines
")
target_sources(xsp_pipelines PRIVATE "${CMAKE_BINARY_DIR}/generated/all_steps.cc")
