#include "shared/base/words.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

using Texts = std::vector<std::string>;

TEST(Words, AreJoinedBySeparators) {
  EXPECT_EQ(joined(Texts{}), "");
  EXPECT_EQ(joined(Texts{"a"}), "a");
  EXPECT_EQ(joined(Texts{"a", "", "c"}, "; "), "a; ; c");
  EXPECT_EQ(joined(std::vector<int64_t>{1, -2}), "1, -2");
}

TEST(Words, AreWhatLiesBetweenSeparators) {
  EXPECT_EQ(split("", ','), Texts{});
  EXPECT_EQ(split(",a,,b c,", ','), (Texts{"a", "b c"}));
}

}  // namespace
}  // namespace xsp
