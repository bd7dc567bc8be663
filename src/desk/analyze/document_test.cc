// Checks that docs/analyses.md has one line for each analysis of the catalogue, as the catalogue
// describes it. With XSP_UPDATE_GOLDEN=1 the file is rewritten.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "desk/analyze/catalogue.h"
#include "shared/base/words.h"
#include "tests/places.h"

namespace xsp::analyze {
namespace {

const std::filesystem::path kPath = places::source("docs/analyses.md");

std::string document() {
  std::string text =
      "# Analyses\n\n"
      "`xsp analyze ID FILE.xsp` answers one. How it is computed, and what its parameters and "
      "columns are, the header of\n`analyses/*.sql` says. What an analysis needs and the file has "
      "not, it says, with the reason: nothing is zero because\nit was not measured. This page "
      "follows from those headers; a test keeps it true.\n\n"
      "| id | name | question | needs |\n|---|---|---|---|\n";
  for (const Analysis& one : catalogue().value()) {
    text += "| " + one.id + " | `" + one.name + "` | " + one.question + " | " + joined(one.needs) +
            " |\n";
  }
  for (const Analysis& one : catalogue().value()) {
    if (one.rules.empty()) continue;
    text += "\n## The rules of " + one.name + "\n\nOne file each: `analyses/" + one.name +
            "/RULE.sql`.\n\n| rule | looks for | needs |\n|---|---|---|\n";
    for (const Rule& rule : one.rules) {
      text += "| `" + rule.name + "` | " + rule.sentence + " | " + joined(rule.needs) + " |\n";
    }
  }
  return text;
}

TEST(Document, SaysWhatTheCatalogueSays) {
  ASSERT_TRUE(catalogue().ok()) << catalogue().error().text;
  if (std::getenv("XSP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << document();
  }
  std::ifstream file(kPath, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), document()) << "XSP_UPDATE_GOLDEN=1 rewrites the page";
}

}  // namespace
}  // namespace xsp::analyze
