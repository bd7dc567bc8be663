// How a model of the zoo is made. Each models/zoo/FAMILY.cc defines FAMILY_recipes(); the build
// collects them, so a new family is a new file.
#ifndef XSP_MODELS_RECIPE_H_
#define XSP_MODELS_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/builder.h"

namespace xsp::models {

struct Recipe {
  std::string name;   // as `xsp profile` takes it
  std::string title;  // as people call it
  std::string task;
  std::string topology;  // whose definition is followed, and what is left out
  // What the literature says, and where; the tests compare.
  int64_t literature_parameters = 0;
  double literature_gmacs = 0;  // 0: no figure for this very step is known
  std::string literature;
  void (*build)(Builder& builder) = nullptr;
};

// All of them, ordered by name. The build generates this function.
std::vector<Recipe> all_recipes();

}  // namespace xsp::models

#endif  // XSP_MODELS_RECIPE_H_
