#include "shared/base/levels.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

TEST(Levels, AreKnownByNameAndNumber) {
  for (uint32_t level = XSP_LEVEL_APPLICATION; level <= XSP_LEVEL_KERNEL; ++level) {
    EXPECT_EQ(level_named(level_name(level)), level);
    EXPECT_NE(std::string_view(kLevelChoice).find(level_name(level)), std::string_view::npos);
  }
  EXPECT_EQ(level_name(0), "");
  EXPECT_EQ(level_name(7), "");
  EXPECT_EQ(level_named(""), 0u);
  EXPECT_EQ(level_named("kernels"), 0u);
}

TEST(Levels, AListIsReadAsAWholeOrNotAtAll) {
  EXPECT_EQ(levels_named("model"), XSP_LEVEL_BIT(XSP_LEVEL_MODEL));
  EXPECT_EQ(levels_named("layer,api"),
            XSP_LEVEL_BIT(XSP_LEVEL_LAYER) | XSP_LEVEL_BIT(XSP_LEVEL_API));
  EXPECT_EQ(levels_text(levels_named("api,layer")), "layer,api");
  EXPECT_EQ(levels_text(0), "");
  EXPECT_EQ(levels_named("all"), XSP_LEVELS_ALL);
  EXPECT_EQ(levels_named("model,all"), XSP_LEVELS_ALL);
  for (const char* wrong : {"", ",", "model,", ",model", "model,,layer", "modell", "model layer"}) {
    EXPECT_EQ(levels_named(wrong), 0u) << wrong;
  }
}

}  // namespace
}  // namespace xsp
