#include "desk/cli/numbers.h"

#include <gtest/gtest.h>

#include "shared/base/guard.h"

namespace xsp::cli {
namespace {

// Returns the error of a command line with one option.
template <typename T>
std::string error_of(const std::string& value, const CLI::Validator& check) {
  CLI::App app;
  T number{};
  app.add_option("--n", number)->check(check);
  const auto thrown = guard([&] { app.parse("--n=" + value); });
  return thrown ? plain_number_error(thrown->text) : "";
}

TEST(Numbers, AWordThatIsNoNumberIsSaidToBeNone) {
  for (const char* const word : {"x", "1.5", "4x"}) {
    const std::string said = "--n: '" + std::string(word) + "' is not a whole number";
    EXPECT_EQ(error_of<int64_t>(word, whole_above_zero()), said);
    EXPECT_EQ(error_of<int>(word, CLI::Range(1, 8)), said);
  }
  EXPECT_EQ(error_of<double>("x", CLI::PositiveNumber), "--n: 'x' is not a number");
  EXPECT_EQ(error_of<double>("x", CLI::Validator()), "--n: 'x' is not a number");
  EXPECT_EQ(error_of<int>("1.5", CLI::Validator()), "--n: '1.5' is not a whole number");
}

TEST(Numbers, ANumberThatIsOutOfRangeIsSaidToBeSo) {
  for (const char* const small : {"0", "-3", "-0"}) {
    const std::string said = "--n: Value " + std::string(small) + " is too small";
    EXPECT_EQ(error_of<int64_t>(small, whole_above_zero()), said);
    EXPECT_EQ(error_of<double>(small, CLI::PositiveNumber), said);
  }
  EXPECT_EQ(error_of<int>("9", CLI::Range(1, 8)), "--n: Value 9 not in range [1 - 8]");
}

TEST(Numbers, ANumberThatIsRightHasNoError) {
  EXPECT_EQ(error_of<int64_t>("12", whole_above_zero()), "");
  EXPECT_EQ(error_of<double>("1.5", CLI::PositiveNumber), "");
}

TEST(Numbers, OtherErrorsStay) {
  EXPECT_EQ(plain_number_error("FILE is required"), "FILE is required");
}

}  // namespace
}  // namespace xsp::cli
