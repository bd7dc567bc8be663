# The recipes of every zoo/FAMILY.cc, collected into all_recipes().
file(GLOB families CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/zoo/*.cc")
set(declarations "")
set(calls "")
foreach(file ${families})
  get_filename_component(family "${file}" NAME_WE)
  string(APPEND declarations "std::vector<Recipe> ${family}_recipes();\n")
  string(APPEND calls "    ${family}_recipes(),\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/all_recipes.cc" @ONLY CONTENT
"// Generated from the names of zoo/*.cc.
#include <algorithm>

#include \"zoo/shared/recipe.h\"

namespace xsp::zoo {

@declarations@
std::vector<Recipe> all_recipes() {
  std::vector<Recipe> all;
  for (const std::vector<Recipe>& family : {
@calls@  }) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::sort(all.begin(), all.end(), [](const Recipe& a, const Recipe& b) { return a.name < b.name; });
  return all;
}

}  // namespace xsp::zoo
")
target_sources(xsp_zoo PRIVATE "${CMAKE_BINARY_DIR}/generated/all_recipes.cc")
# A fused multiply-add rounds once where two instructions round twice, so the weights' bits would depend on the machine
# that made them.
target_compile_options(xsp_zoo PRIVATE -ffp-contract=off)
