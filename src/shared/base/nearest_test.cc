#include "shared/base/nearest.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

const std::vector<std::string> kVerbs = {"analyze", "doctor", "models", "profile", "query"};

TEST(Nearest, FindsATypo) {
  EXPECT_EQ(nearest("anlyze", kVerbs), std::vector<std::string>{"analyze"});
  EXPECT_EQ(nearest("PROFIEL", kVerbs), std::vector<std::string>{"profile"});
}

TEST(Nearest, FindsAPart) {
  EXPECT_EQ(nearest("prof", kVerbs), std::vector<std::string>{"profile"});
}

TEST(Nearest, PutsTheBestFirst) {
  EXPECT_EQ(nearest("a2", {"a11", "a1", "a2x", "a2"}).front(), "a2");
}

TEST(Nearest, IsSilentAboutNonsense) {
  EXPECT_TRUE(nearest("xyzzy", kVerbs).empty());
  EXPECT_EQ(did_you_mean("xyzzy", kVerbs, "see --help"), "see --help");
}

TEST(Nearest, Asks) { EXPECT_EQ(did_you_mean("model", kVerbs, ""), "did you mean 'models'?"); }

}  // namespace
}  // namespace xsp
