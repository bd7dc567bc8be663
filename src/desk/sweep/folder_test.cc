// Tests the files of a sweep: claims, results, and the locks of devices.
#include "desk/sweep/folder.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <thread>

#include "desk/sweep/device_lock.h"
#include "shared/base/scratch.h"

namespace {
int fsync_error = 0;  // what fsync() says; 0: what the disk says
}  // namespace

// Stands for the C library's, so that a disk can be full.
extern "C" int fsync(int fd) {
  if (fsync_error == 0) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = fsync_error;
  return -1;
}

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchFolder::create();
    ASSERT_TRUE(scratch.ok());
    scratch_ = std::move(*scratch);
    plan_.id = "p";
    plan_.tasks.resize(1);
    plan_.tasks[0].name = "t";
    plan_.tasks[0].model = "m";
    plan_.tasks[0].scenario = "profile";
  }
  const Task& task() const { return plan_.tasks[0]; }

  std::unique_ptr<ScratchFolder> scratch_;
  Plan plan_;
};

TEST_F(FolderTest, EachClaimHasItsOwnNumber) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  std::vector<std::thread> threads;
  std::vector<int> numbers(8);
  for (size_t i = 0; i < numbers.size(); ++i) {
    threads.emplace_back([&, i] { numbers[i] = folder.begin(task(), "h")->number; });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()), (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(folder.attempts(task()).size(), 8u);
}

TEST_F(FolderTest, TheFirstResultStays) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  for (const char* text : {"first", "second"}) {
    const auto attempt = folder.begin(task(), "h");
    ASSERT_TRUE(attempt.ok());
    std::ofstream(folder.part(task(), attempt->number)) << text;
    const auto is_first = folder.commit(task(), *attempt);
    ASSERT_TRUE(is_first.ok());
    EXPECT_EQ(*is_first, std::string(text) == "first");
  }
  std::string kept;
  std::ifstream(folder.result(task())) >> kept;
  EXPECT_EQ(kept, "first");
}

TEST_F(FolderTest, WhatTheDiskDidNotKeepIsNoResult) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  const Attempt attempt = *folder.begin(task(), "h");
  std::ofstream(folder.part(task(), attempt.number)) << "text";
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    fsync_error = error;
    EXPECT_FALSE(folder.commit(task(), attempt).ok());
    EXPECT_FALSE(folder.is_done(task()));
  }
  fsync_error = EINVAL;  // a file system that has no fsync()
  const auto is_first = folder.commit(task(), attempt);
  fsync_error = 0;
  ASSERT_TRUE(is_first.ok()) << is_first.error().text;
  EXPECT_TRUE(folder.is_done(task()));
}

TEST_F(FolderTest, AnAttemptIsReadAsItWasNoted) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  Attempt attempt = *folder.begin(task(), "h");
  EXPECT_EQ(folder.attempts(task())[0].end, End::kNone);
  attempt.end = End::kTimeout;
  attempt.reason = "late \xff";
  attempt.seconds = 2.5;
  ASSERT_TRUE(folder.note(task(), attempt).ok());
  const Attempt read = folder.attempts(task())[0];
  EXPECT_EQ(read.end, End::kTimeout);
  EXPECT_EQ(read.seconds, 2.5);
  EXPECT_TRUE(read.reason.starts_with("late"));
}

TEST_F(FolderTest, OneSweepWorksOnAFolder) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  EXPECT_FALSE(folder.create(plan_).ok());
  {
    const auto lock = folder.lock();
    ASSERT_TRUE(lock.ok());
    EXPECT_FALSE(folder.lock().ok());
  }
  EXPECT_TRUE(folder.lock().ok());
}

TEST_F(FolderTest, ASweepThatCouldNotBeMadeIsMadeLater) {
  const Folder folder(scratch_->path() / "s");
  fsync_error = ENOSPC;
  EXPECT_FALSE(folder.create(plan_).ok());
  fsync_error = 0;
  EXPECT_TRUE(fs::is_empty(folder.path()));
  // As if it had been killed in the midst.
  for (const char* name : {"results", "attempts"}) fs::create_directory(folder.path() / name);
  std::ofstream(folder.path() / "plan.json.7.part") << "{";
  EXPECT_TRUE(folder.create(plan_).ok());
  EXPECT_TRUE(folder.exists());
  fs::remove(folder.plan_file());
  std::ofstream(folder.result(task())) << "somebody's";
  EXPECT_FALSE(folder.create(plan_).ok());
}

TEST_F(FolderTest, TheEndIsKnownUntilTheSweepGoesOn) {
  const Folder folder(scratch_->path() / "s");
  ASSERT_TRUE(folder.create(plan_).ok());
  EXPECT_FALSE(folder.end().has_value());
  ASSERT_TRUE(folder.note_end(SweepEnd{"failed", "no GPU"}).ok());
  ASSERT_TRUE(folder.end().has_value());
  EXPECT_EQ(folder.end()->state, "failed");
  EXPECT_EQ(folder.end()->reason, "no GPU");
  for (const char* foreign : {"", "[]", "{}", "{\"state\": 1}", "{\"state\": \"open\"}"}) {
    std::ofstream(folder.path() / "end.json") << foreign;
    EXPECT_FALSE(folder.end().has_value()) << foreign;
  }
  for (int again = 0; again < 2; ++again) EXPECT_TRUE(folder.note_end(std::nullopt).ok());
  EXPECT_FALSE(folder.end().has_value());
}

// Returns whether the device is free now.
bool is_free(const std::string& device, const fs::path& folder) {
  const std::atomic<int> stop = 1;
  return DeviceLock::take(device, stop, folder.string()).ok();
}

TEST_F(FolderTest, AProcessorExcludesAllAndGpusShareTheMachine) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  const std::atomic<int> stop = 0;
  const std::string folder = scratch_->path().string();
  {
    const auto cpu = DeviceLock::take("cpu", stop, folder);
    ASSERT_TRUE(cpu.ok());
    for (const char* device : {"cpu", "cuda:0", "cuda", ""}) EXPECT_FALSE(is_free(device, folder));
  }
  const auto gpu = DeviceLock::take("cuda:0", stop, folder);
  ASSERT_TRUE(gpu.ok());
  EXPECT_FALSE(is_free("cuda:0", folder));
  EXPECT_FALSE(is_free("cpu", folder));
  EXPECT_TRUE(is_free("cuda:1", folder));
}

TEST_F(FolderTest, AGpuIsTheOneThatTheProcessSees) {
  const std::atomic<int> stop = 0;
  const std::string folder = scratch_->path().string();
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  const auto third = DeviceLock::take("cuda:0", stop, folder);
  ASSERT_TRUE(third.ok());
  ::setenv("CUDA_VISIBLE_DEVICES", "5,3", 1);
  EXPECT_TRUE(is_free("cuda:0", folder));
  EXPECT_FALSE(is_free("cuda:1", folder));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace xsp::sweep
