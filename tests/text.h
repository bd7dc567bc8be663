#ifndef XSP_TESTS_TEXT_H_
#define XSP_TESTS_TEXT_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace xsp {

// Returns the bytes of a file that the test needs; the test fails if they cannot be read.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace xsp

#endif  // XSP_TESTS_TEXT_H_
