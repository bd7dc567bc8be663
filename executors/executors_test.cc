// Tests what all executors share.
#include <gtest/gtest.h>

#include "executors/shared/executor.h"
#include "executors/shared/lanes.h"
#include "executors/shared/program.h"

namespace xsp::executors {
namespace {

TEST(Executors, SayWhatTheyAre) {
  for (const Executor& one : all_executors()) {
    EXPECT_FALSE(one.title.empty()) << one.name;
    EXPECT_NE(one.open, nullptr) << one.name;
    EXPECT_NE(one.systems, nullptr) << one.name;
    EXPECT_TRUE(find_executor(one.name).ok());
  }
  EXPECT_NE(find_executor("slrum").error().text.find("slurm"), std::string::npos);
}

TEST(Settings, ThatAreUnknownOrMissingAreRefused) {
  const Executor ssh = *find_executor("ssh");
  EXPECT_FALSE(check_settings(ssh, {}).ok());
  EXPECT_TRUE(check_settings(ssh, {{"hosts", {"a"}}}).ok());
  EXPECT_FALSE(check_settings(ssh, {{"hosts", {"a"}}, {"host", {"b"}}}).ok());
}

TEST(Program, GivesItsOutputOrItsLastWords) {
  EXPECT_EQ(*run_program({"cat"}, "text"), "text");
  const auto failed = run_program({"sh", "-c", "echo one >&2; echo two >&2; exit 3"});
  EXPECT_EQ(failed.error().text, "one | two");
  EXPECT_EQ(run_program({"/nosuch/program"}).error().code, Code::kNotAvailable);
  // It reads neither input nor waits for it.
  EXPECT_TRUE(run_program({"true"}, std::string(1 << 20, 'x')).ok());
}

TEST(Devices, DisturbEachOtherUnlessBothAreGpus) {
  EXPECT_TRUE(disturb("cpu", "cpu"));
  EXPECT_TRUE(disturb("cpu", "cuda:0"));
  EXPECT_TRUE(disturb("cuda:0", "cuda:0"));
  EXPECT_FALSE(disturb("cuda:0", "cuda:1"));
  EXPECT_TRUE(disturb("", "cuda:1"));
}

}  // namespace
}  // namespace xsp::executors
