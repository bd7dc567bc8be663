#include "adapters/tensorrt/cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

namespace xsp::tensorrt {
namespace {

class BuildLockTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_ = testing::TempDir() + "xsp-build-lock-" + std::to_string(getpid());
};

// Two GPUs of a machine build at once.
TEST_F(BuildLockTest, LocksOfTwoFilesDoNotWaitForEachOther) {
  const BuildLock one(path("gpu-0000:01:00.0.lock"));
  const BuildLock other(path("gpu-0000:02:00.0.lock"));
}

TEST_F(BuildLockTest, TheSecondLockOfAFileWaitsForTheFirst) {
  auto first = std::make_unique<BuildLock>(path("gpu.lock"));
  std::future<void> second =
      std::async(std::launch::async, [&] { const BuildLock lock(path("gpu.lock")); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first.reset();
  second.get();
}

}  // namespace
}  // namespace xsp::tensorrt
