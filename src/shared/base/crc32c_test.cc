#include "shared/base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace xsp {
namespace {

// The check value that catalogues of the algorithm give for "123456789".
TEST(Crc32c, KnownAnswer) {
  constexpr std::string_view kText = "123456789";
  EXPECT_EQ(crc32c(kText.data(), kText.size()), 0xe3069283u);
  EXPECT_EQ(crc32c_by_table(kText.data(), kText.size()), 0xe3069283u);
  EXPECT_EQ(crc32c(nullptr, 0), 0u);
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLengthAndSplit) {
  std::mt19937 random(7);
  std::vector<unsigned char> bytes(257);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const uint32_t whole = crc32c_by_table(bytes.data(), size);
    EXPECT_EQ(crc32c(bytes.data(), size), whole);
    const size_t cut = size / 3;
    EXPECT_EQ(crc32c(bytes.data() + cut, size - cut, crc32c(bytes.data(), cut)), whole);
  }
}

}  // namespace
}  // namespace xsp
