#include "shared/base/program.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

constexpr const char* kBoth = "echo output; echo error >&2; exit 3";

TEST(Program, StreamsGoWhereTheyAreSent) {
  const auto apart = run_to_end({{"sh", "-c", kBoth}, {}, Errors::kApart});
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(apart->status, 3);
  EXPECT_FALSE(apart->is_success());
  EXPECT_EQ(apart->output, "output\n");
  EXPECT_EQ(apart->errors, "error\n");
  const auto together = run_to_end({{"sh", "-c", kBoth}, {}, Errors::kWithOutput});
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(together->output, "output\nerror\n");
}

TEST(Program, InputIsReadOrNot) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(run_to_end({{"cat"}, large})->output, large);
  EXPECT_TRUE(run_to_end({{"true"}, large})->is_success());
  EXPECT_EQ(run_to_end({{"cat"}})->output, "");
}

TEST(Program, ASignalIsNoStatus) {
  const auto killed = run_to_end({{"sh", "-c", "kill -9 $$"}});
  ASSERT_TRUE(killed.ok());
  EXPECT_FALSE(killed->status.has_value());
  EXPECT_TRUE(killed->was_in_time);
}

TEST(Program, PatienceEnds) {
  const auto late = run_to_end({{"sleep", "600"}, {}, Errors::kApart, std::chrono::seconds(1)});
  ASSERT_TRUE(late.ok());
  EXPECT_FALSE(late->was_in_time);
  EXPECT_FALSE(late->is_success());
}

TEST(Program, AnAbsentProgramIsNamed) {
#ifdef XSP_EMULATED
  GTEST_SKIP() << "an emulator forks, and its child cannot tell why it starts no program";
#endif
  const auto absent = run_to_end({{"/nosuch/program"}});
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, Code::kNotAvailable);
  EXPECT_EQ(absent.error().text, "/nosuch/program: cannot be run: No such file or directory");
}

}  // namespace
}  // namespace xsp
