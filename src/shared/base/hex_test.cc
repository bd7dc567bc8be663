#include "shared/base/hex.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

TEST(Hex, ComesBackAndRefusesOtherTexts) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(bytes_of_hex(hex_of(all)), all);
  EXPECT_EQ(hex_of(std::string("\0\x7f\xff", 3)), "007fff");
  EXPECT_EQ(bytes_of_hex(""), "");
  for (const char* wrong : {"0", "0g", "FF", "0 ", "007"})
    EXPECT_FALSE(bytes_of_hex(wrong)) << wrong;
}

}  // namespace
}  // namespace xsp
