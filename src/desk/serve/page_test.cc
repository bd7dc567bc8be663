#include "desk/serve/page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/places.h"

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

TEST(PageTest, TheHelpHasEachDocumentAndLoadsNothing) {
  const std::string_view help = embedded_help();
  EXPECT_TRUE(help.starts_with("<!doctype html>"));
  EXPECT_EQ(help.find("<script"), std::string_view::npos);
  EXPECT_EQ(help.find("src=\"img"), std::string_view::npos);
  size_t chapters = 0;
  for (const auto& file : std::filesystem::directory_iterator(places::source("docs"))) {
    if (file.path().extension() != ".md") continue;
    ++chapters;
    const std::string article = "<article id=\"" + file.path().stem().string() + "\">";
    EXPECT_NE(help.find(article), std::string_view::npos) << article;
  }
  EXPECT_GT(chapters, 10U);
}

// Each link within the help leads to a chapter or a heading that exists.
TEST(PageTest, TheHelpsLinksLeadSomewhere) {
  const std::string help(embedded_help());
  const std::regex link("href=\"#([^\"]+)\"");
  for (std::sregex_iterator at(help.begin(), help.end(), link), end; at != end; ++at) {
    EXPECT_NE(help.find("id=\"" + (*at)[1].str() + "\""), std::string::npos) << (*at)[1];
  }
}

}  // namespace
}  // namespace xsp::serve
