// The recipe of a model of the zoo. Each zoo/FAMILY.cc defines FAMILY_recipes(); the build
// collects them, so a new family is a new file.
#ifndef XSP_ZOO_SHARED_RECIPE_H_
#define XSP_ZOO_SHARED_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/onnx/builder.h"

namespace xsp::zoo {

struct Recipe {
  std::string name;   // the name for `xsp profile`
  std::string title;  // the usual name
  std::string task;
  std::string topology;  // the source of the definition, and the parts that are left out
  // Figures of the literature, with their sources; the tests compare them.
  int64_t literature_parameters = 0;
  double literature_gmacs = 0;  // 0: no figure is known for this exact step
  std::string literature;
  void (*build)(formats::Builder& builder) = nullptr;
  std::string literature_note = {};  // says why the figures differ by more than rounding
};

// Returns all recipes, ordered by name. The build generates this function.
std::vector<Recipe> all_recipes();

}  // namespace xsp::zoo

#endif  // XSP_ZOO_SHARED_RECIPE_H_
