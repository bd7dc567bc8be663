#ifndef XSP_TESTS_PLACES_H_
#define XSP_TESTS_PLACES_H_

#include <string>

// The folders of the checkout and of the build that a test belongs to. Their paths are in one
// object that CMake generates (cmake/modules.cmake), so the objects of the tests are the same in
// every checkout, and one compiler cache serves them all.
extern "C" const char* const xsp_source_folder;
extern "C" const char* const xsp_build_folder;

namespace xsp::places {

// These functions return the absolute path of `below` in a folder, or of the folder itself.
inline std::string in(const std::string& folder, const std::string& below) {
  return below.empty() ? folder : folder + "/" + below;
}
inline std::string source(const std::string& below = "") { return in(xsp_source_folder, below); }
inline std::string build(const std::string& below = "") { return in(xsp_build_folder, below); }
inline std::string bin(const std::string& below = "") { return in(build("bin"), below); }

}  // namespace xsp::places

#endif  // XSP_TESTS_PLACES_H_
