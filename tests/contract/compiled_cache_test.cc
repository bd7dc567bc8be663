// Tests what adapters keep between processes: include/xsp/compiled_cache.hpp.
#include "xsp/compiled_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

namespace xsp::contract {
namespace {

class CompiledCacheTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_ = testing::TempDir() + "xsp-build-lock-" + std::to_string(getpid());
};

// Two GPUs of a machine build at once.
TEST_F(CompiledCacheTest, LocksOfTwoFilesDoNotWaitForEachOther) {
  const BuildLock one(path("gpu-0000:01:00.0.lock"));
  const BuildLock other(path("gpu-0000:02:00.0.lock"));
}

TEST_F(CompiledCacheTest, TheSecondLockOfAFileWaitsForTheFirst) {
  auto first = std::make_unique<BuildLock>(path("gpu.lock"));
  std::future<void> second =
      std::async(std::launch::async, [&] { const BuildLock lock(path("gpu.lock")); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first.reset();
  second.get();
}

// A reader of a file that is being written gets all of it or nothing, so nothing but it is left.
TEST_F(CompiledCacheTest, WhatWasWrittenIsReadWholeAndStandsAlone) {
  const std::string engine("an engine\0with zeros", 20);
  ASSERT_TRUE(write_compiled(path("one.plan"), engine.data(), engine.size()));
  FileBytes bytes;
  ASSERT_TRUE(read_compiled(path("one.plan"), &bytes));
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), engine);
  EXPECT_FALSE(read_compiled(path("other.plan"), &bytes));
  using Files = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Files(path("")), Files()), 1);
}

TEST_F(CompiledCacheTest, WhatIsReadIsKeptAndWhatIsNotIsRemovedButNoLock) {
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 15);
  for (const char* name : {"read.plan", "unused.plan", "unused.plan.lock"}) {
    std::ofstream(path(name)) << "x";
    std::filesystem::last_write_time(path(name), long_ago);
  }
  FileBytes bytes;
  ASSERT_TRUE(read_compiled(path("read.plan"), &bytes));
  remove_unused(path(""));
  EXPECT_TRUE(std::filesystem::exists(path("read.plan")));
  EXPECT_FALSE(std::filesystem::exists(path("unused.plan")));
  EXPECT_TRUE(std::filesystem::exists(path("unused.plan.lock")));
}

TEST_F(CompiledCacheTest, TheHashDependsOnEveryByteAndOnTheSeed) {
  const std::string text = "a model of 19 bytes";
  const uint64_t whole = hash_of(text.data(), text.size(), 0);
  EXPECT_NE(hash_of(text.data(), text.size() - 1, 0), whole);
  EXPECT_NE(hash_of(text.data(), text.size(), 1), whole);
  EXPECT_EQ(hex_of(whole).size(), 16U);
}

}  // namespace
}  // namespace xsp::contract
