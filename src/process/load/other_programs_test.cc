#include "process/load/other_programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "shared/base/scratch.h"

namespace xsp::process {
namespace {

class OtherProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create();
    ASSERT_TRUE(made.ok());
    scratch_ = std::move(*made);
  }
  void write(int number, const std::string& name, int user, int system) const {
    const auto folder = scratch_->path() / std::to_string(number);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "stat") << number << " (" << name << ") S 1 1 1 0 -1 4194560 1 0 0 0 "
                                   << user << ' ' << system << " 0 0 20 0 1 0 5 0 0\n";
  }
  void write_machine(int user, int steal) const {
    std::ofstream(scratch_->path() / "stat")
        << "cpu  " << user << " 0 0 900 0 0 0 " << steal << " 0 0\ncpu0 1 2 3\n";
  }
  ProgramTimes read() const { return read_program_times(scratch_->path()); }
  std::unique_ptr<ScratchFolder> scratch_;
};

TEST_F(OtherProgramsTest, EachProgramUsedWhatAllItsProcessesUsed) {
  write(::getpid(), "own", 100, 0);
  write(3, "cc) 1(plus", 10, 5);
  write(4, "cc) 1(plus", 0, 0);
  write(5, "idle", 50, 0);
  write(6, "old", 50, 0);
  write_machine(1000, 20);
  const ProgramTimes before = read();
  write(::getpid(), "own", 130, 0);
  write(3, "cc) 1(plus", 12, 6);  // 3 ticks
  write(4, "cc) 1(plus", 1, 1);   // 2
  write(5, "idle", 51, 0);        // 1: by chance
  write(6, "new", 4, 3);          // 7, of another process with that number
  write(7, "begun", 9, 0);
  write_machine(1060, 25);  // 60 - 30 - 3 - 2 - 1 - 7 - 9 are not seen
  const std::map<std::string, int64_t> expected = {{"cc) 1(plus", 5},
                                                   {"new", 7},
                                                   {"begun", 9},
                                                   {"programs not seen", 8},
                                                   {"other virtual machines", 5}};
  EXPECT_EQ(used_between(before, read()), expected);
}

TEST_F(OtherProgramsTest, WhatCannotBeReadIsNothing) {
  write(3, "", 0, 0);
  std::ofstream(scratch_->path() / "3/stat") << "no stat";
  std::ofstream(scratch_->path() / "stat") << "cpu 1";
  EXPECT_TRUE(used_between(read(), read()).empty());
  EXPECT_TRUE(read_program_times("/no/such/folder").processes.empty());
}

}  // namespace
}  // namespace xsp::process
