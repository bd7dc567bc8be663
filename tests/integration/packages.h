// Finds the frameworks from PyPI that tools/deps.sh fetched for the tests.
#ifndef XSP_TESTS_INTEGRATION_PACKAGES_H_
#define XSP_TESTS_INTEGRATION_PACKAGES_H_

#include <cstdlib>
#include <string>

namespace xsp::integration {

// Returns the folder of a framework's packages, for PYTHONPATH, whether it is there or not.
inline std::string packages_of(const std::string& framework) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string caches =
      cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  return caches + "/xsp/frameworks/" + framework;
}

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_PACKAGES_H_
