#include "desk/serve/page.h"

#include <gtest/gtest.h>

namespace xsp::serve {
namespace {

TEST(PageTest, IsOneFileThatLoadsNothing) {
  const std::string_view page = embedded_page();
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.find("</html>") != std::string_view::npos);
  EXPECT_EQ(page.find("<script type=\"module\" src="), std::string_view::npos);
  EXPECT_EQ(page.find("<link rel=\"stylesheet\""), std::string_view::npos);
}

TEST(PageTest, HasOnePlaceForAReportsAnswers) {
  const std::string_view page = embedded_page();
  const size_t first = page.find("<!--xsp:recorded-->");
  ASSERT_NE(first, std::string_view::npos);
  EXPECT_EQ(page.find("<!--xsp:recorded-->", first + 1), std::string_view::npos);
}

}  // namespace
}  // namespace xsp::serve
