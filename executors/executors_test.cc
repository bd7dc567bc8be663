// Tests what all executors share.
#include <gtest/gtest.h>

#include "executors/shared/executor.h"
#include "executors/shared/kubernetes_job.h"
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

TEST(Kubernetes, NumbersAreReadAsTheyAreWritten) {
  EXPECT_EQ(indexes_of("0-2,5", 100), (std::vector<size_t>{0, 1, 2, 5}));
  EXPECT_TRUE(indexes_of("", 100).empty());
  EXPECT_EQ(indexes_of("0-4000000000", 3).size(), 3u);
  EXPECT_TRUE(indexes_of("x,-,5-1", 100).empty());
}

TEST(Kubernetes, HasWhatIsNeitherCompleteNorFailed) {
  const std::string jobs = R"({"items": [
    {"metadata": {"name": "a", "annotations": {"xsp.units": "7,8,9,3"}},
     "status": {"completedIndexes": "0", "failedIndexes": "2"}},
    {"metadata": {"name": "b", "annotations": {"xsp.units": "1"}},
     "status": {"conditions": [{"type": "Failed", "status": "True"}]}}]})";
  const std::string pods = R"({"items": [
    {"metadata": {"labels": {"batch.kubernetes.io/job-name": "a"},
                  "annotations": {"batch.kubernetes.io/job-completion-index": "1"}},
     "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}},
    {"metadata": {"labels": {"batch.kubernetes.io/job-name": "a"},
                  "annotations": {"batch.kubernetes.io/job-completion-index": "3"}},
     "status": {"phase": "Pending", "conditions": [
       {"type": "PodScheduled", "status": "False", "message": "no node has a GPU"}]}}]})";
  const std::map<size_t, Held> held = held_of(jobs, pods, 10);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(held.at(8).is_running);
  EXPECT_EQ(held.at(8).where, "n1");
  EXPECT_FALSE(held.at(3).is_running);
  EXPECT_EQ(held.at(3).why, "no node has a GPU");
  EXPECT_TRUE(held_of("{", "[1]", 10).empty());
  EXPECT_EQ(held_of(jobs, "{\"items\": [3]}", 9).size(), 2u);
}

TEST(Kubernetes, APodHasTheImageThatItsUnitsWant) {
  Job job;
  job.settings = {{"image", {"xsp"}}, {"claim", {"c"}}, {"mount", {"/m"}}};
  job.units = {{"a", "cpu", "", ""}, {"b", "cpu", "", "net:2"}};
  EXPECT_NE(job_manifest(job, {0}, {}).find("\"image\":\"xsp\""), std::string::npos);
  const std::string own = job_manifest(job, {1}, {"", "net:2", false});
  EXPECT_NE(own.find("\"image\":\"net:2\""), std::string::npos);
  EXPECT_NE(own.find("\"name\":\"XSP_CONTAINER_IMAGE\",\"value\":\"net:2\""), std::string::npos);
}

}  // namespace
}  // namespace xsp::executors
