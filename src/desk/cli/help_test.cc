#include "desk/cli/help.h"

#include <gtest/gtest.h>

namespace xsp::cli {
namespace {

TEST(Help, ProseIsWrappedAndExamplesAreNot) {
  EXPECT_EQ(wrapped_prose("one two\nthree\n\nfour\n\nExamples:\n  xsp run -- a b c", 10),
            "one two\nthree\n\nfour\n\nExamples:\n  xsp run -- a b c\n");
  EXPECT_EQ(wrapped_prose("one two\nthree four", 13), "one two three\nfour\n");
}

TEST(Help, AnItemContinuesBelowItsSecondWord) {
  EXPECT_EQ(wrapped_prose("Exit status:\n  0  all is\n     well here\n  1  not", 16),
            "Exit status:\n  0  all is well\n     here\n  1  not\n");
}

TEST(Help, AnItemBelowAnotherIsOneOfItsOwn) {
  EXPECT_EQ(wrapped_prose("Executors:\n  ssh    by ssh\n    hosts: the list\n    xsp: its path\n"
                          "  local  here, at\n         once",
                          24),
            "Executors:\n  ssh    by ssh\n    hosts: the list\n    xsp: its path\n"
            "  local  here, at once\n");
}

TEST(Help, ADescriptionStandsBesideItsNameOrBelowIt) {
  const auto help = [](size_t width) {
    CLI::App app("Says what it does", "xsp");
    app.formatter(help_formatter(width));
    app.set_help_flag();
    bool flag = false;
    app.add_flag("--a-flag", flag,
                 "Is described by a sentence that needs a second line on this terminal");
    return app.help();
  };
  EXPECT_NE(help(80).find("\n  --a-flag                    Is described by a sentence that needs a "
                          "second\n                              line on this terminal\n"),
            std::string::npos)
      << help(80);
  EXPECT_NE(help(50).find("\n  --a-flag\n      Is described by a sentence that needs a\n"),
            std::string::npos)
      << help(50);
}

}  // namespace
}  // namespace xsp::cli
