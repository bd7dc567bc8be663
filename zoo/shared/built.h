// Builds a recipe of the zoo, for tests.
#ifndef XSP_ZOO_SHARED_BUILT_H_
#define XSP_ZOO_SHARED_BUILT_H_

#include <gtest/gtest.h>

#include <string>

#include "zoo/shared/recipe.h"

namespace xsp::zoo {

// Returns the built model of that name. If there is none, the test fails and the result is empty.
inline formats::Builder built(const std::string& name) {
  for (const Recipe& recipe : all_recipes()) {
    if (recipe.name != name) continue;
    formats::Builder builder(name);
    recipe.build(builder);
    return builder;
  }
  ADD_FAILURE() << name;
  return formats::Builder(name);
}

}  // namespace xsp::zoo

#endif  // XSP_ZOO_SHARED_BUILT_H_
