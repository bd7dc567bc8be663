#include "desk/store/bounded.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "desk/store/confine.h"
#include "desk/store/testing.h"

namespace xsp::store {
namespace {

class BoundedTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer allows no threads after fork";
#endif
  }
  Result<std::string> in_bounds(const std::function<Result<std::string>()>& work,
                                std::chrono::seconds most = std::chrono::seconds(60)) {
    return bounded({{}, scratch.path(), most}, "a.xtrace", work);
  }
  const ScratchFolder scratch;
};

TEST_F(BoundedTest, WhatTheWorkReturnsComesBack) {
  const auto text = in_bounds([] { return Result<std::string>(std::string(100'000, 'x')); });
  ASSERT_TRUE(text.ok()) << text.error().text;
  EXPECT_EQ(*text, std::string(100'000, 'x'));
  const auto error = in_bounds([]() -> Result<std::string> { return usage("not so"); });
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, Code::kUsage);
  EXPECT_EQ(error.error().text, "not so");
}

TEST_F(BoundedTest, ACrashIsAnError) {
  const auto crashed = in_bounds([]() -> Result<std::string> { std::abort(); });
  ASSERT_FALSE(crashed.ok());
  EXPECT_EQ(crashed.error().code, Code::kCorrupt);
  EXPECT_NE(crashed.error().text.find("a.xtrace: damaged"), std::string::npos)
      << crashed.error().text;
  const auto thrown = in_bounds([]() -> Result<std::string> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().code, Code::kOutOfMemory);
}

TEST_F(BoundedTest, WhatIsEndlessIsBrokenOff) {
  const auto late = in_bounds(
      []() -> Result<std::string> {
        for (;;) ::pause();
      },
      std::chrono::seconds(1));
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().text.find("takes more than 1 s"), std::string::npos) << late.error().text;
}

TEST_F(BoundedTest, TheWorkWritesItsFolderAndNothingElse) {
  const ScratchFolder other;
  const auto done = in_bounds([&]() -> Result<std::string> {
    std::ofstream(scratch.path() / "mine") << "x";
    if (can_confine_files() && std::ofstream(other.path() / "theirs").good()) return failed("file");
    if (can_confine_calls() && ::socket(AF_INET, SOCK_STREAM, 0) >= 0) return failed("socket");
    std::ofstream temporary(std::filesystem::temp_directory_path() / "spill");
    return temporary.good() ? Result<std::string>("fine") : failed("no temporary file");
  });
  ASSERT_TRUE(done.ok()) << done.error().text;
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "mine"));
}

}  // namespace
}  // namespace xsp::store
