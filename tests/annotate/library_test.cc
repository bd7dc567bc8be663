// Tests the requirements of libxsp.so on the process that loads it.
#include <gtest/gtest.h>
#include <stdio.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/places.h"

namespace {

namespace places = xsp::places;

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char bytes[4096];
  for (size_t got = 0; (got = fread(bytes, 1, sizeof bytes, pipe)) > 0;) output.append(bytes, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(Library, NeedsTheCLibraryAlone) {
#ifdef XSP_SANITIZED
  GTEST_SKIP() << "a sanitizer brings libraries of its own";
#endif
  std::istringstream lines(output_of("readelf --wide --dynamic " + places::build("lib/libxsp.so")));
  const std::set<std::string> allowed = {"libc.so.6", "libdl.so.2", "libpthread.so.0"};
  size_t needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    const size_t begin = line.find('[') + 1;
    const std::string name = line.substr(begin, line.find(']') - begin);
    EXPECT_TRUE(allowed.count(name) != 0) << name;
  }
  EXPECT_GE(needed, 1u);
}

TEST(Library, ExportsXspAlone) {
#ifdef XSP_SANITIZED
  GTEST_SKIP() << "a sanitizer exports symbols of its own";
#endif
  std::istringstream lines(
      output_of("nm --dynamic --defined-only " + places::build("lib/libxsp.so")));
  size_t functions = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    EXPECT_EQ(name.rfind("xsp_", 0), 0u) << name;
    ++functions;
  }
  EXPECT_GT(functions, 15u);
}

// A thread-local access that calls into the loader would cost every span some nanoseconds.
TEST(Library, ReachesItsThreadWithoutACall) {
#ifdef XSP_SANITIZED
  GTEST_SKIP() << "a sanitizer has thread-local data of its own";
#endif
  const std::string symbols =
      output_of("nm --dynamic --undefined-only " + places::build("lib/libxsp.so"));
  EXPECT_NE(symbols.find("pthread_create"), std::string::npos);
  EXPECT_EQ(symbols.find("__tls_get_addr"), std::string::npos);
}

}  // namespace
