// Tests what all executors share.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "executors/shared/executor.h"
#include "executors/shared/indexes.h"
#include "executors/shared/kubernetes_job.h"
#include "executors/shared/lanes.h"
#include "executors/shared/program.h"
#include "shared/base/scratch.h"

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

TEST(Lanes, WaitAlsoIfNothingRuns) {
  Lanes lanes({}, {"here"}, nullptr);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(lanes.poll(std::chrono::milliseconds(50))->empty());
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
}

TEST(Indexes, AreReadAsTheyAreWritten) {
  EXPECT_EQ(indexes_of("0-2,5", 100), (std::vector<size_t>{0, 1, 2, 5}));
  EXPECT_TRUE(indexes_of("", 100).empty());
  EXPECT_EQ(indexes_of("0-4000000000", 3).size(), 3u);
  EXPECT_TRUE(indexes_of("x,-,5-1", 100).empty());
  for (const std::vector<size_t>& some :
       {std::vector<size_t>{}, {7}, {0, 1, 2, 5}, {5, 3, 4, 4, 10, 11}, {1, 0}}) {
    const Ranges ranges = ranges_of(some, 100, 100);
    EXPECT_EQ(ranges.count, some.size());
    EXPECT_EQ(indexes_of(ranges.text, 100), some) << ranges.text;
  }
}

TEST(Indexes, AreWrittenAsLongAsThereIsRoom) {
  const std::vector<size_t> some = {0, 1, 2, 5, 8, 9};
  EXPECT_EQ(ranges_of(some, 100, 100).text, "0-2,5,8-9");
  EXPECT_EQ(ranges_of(some, 100, 8).text, "0-2,5");
  EXPECT_EQ(ranges_of(some, 100, 8).count, 4u);
  EXPECT_EQ(ranges_of(some, 2, 100).text, "0-1");
}

// A folder that comes first in PATH, with programs that stand for those of an engine.
class FakeProgramsTest : public testing::Test {
 protected:
  FakeProgramsTest() : folder_(std::move(ScratchFolder::create()).value()) {
    ::setenv("PATH", (folder_->path().string() + ":" + path_).c_str(), 1);
    ::setenv("XSP_FAKE", folder_->path().c_str(), 1);
  }
  ~FakeProgramsTest() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("XSP_FAKE");
  }
  void make(const char* name, const std::string& script) const {
    const std::filesystem::path file = folder_->path() / name;
    std::ofstream(file) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(file, std::filesystem::perms(0755));
  }

  const std::string path_ = std::getenv("PATH");
  std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(FakeProgramsTest, SlurmsCommentsAreNeverTooLong) {
  make("sinfo", "exit 0");
  make("squeue", "cat \"$XSP_FAKE/queue\"");
  make("sbatch", R"(
for word; do
  case "$word" in
    --comment=*) comment=${word#*=} ;;
    --array=*) last=${word#*-*-*-} ;;
  esac
done
[ ${#comment} -le 1024 ] || { echo "sbatch: error: Pathname too long" >&2; exit 1; }
seq 0 "$last" | sed "s/\$/|PENDING||Priority|$comment|7/" >> "$XSP_FAKE/queue"
)");
  Job job;
  job.plan = folder_->path() / "plan.json";
  std::vector<size_t> all;
  // Units of two kinds in turn have no ranges; then there are more than an array may have.
  for (size_t i = 0; i < 3000; ++i) {
    job.units.push_back({"a", i < 1500 && i % 2 == 1 ? "cuda" : "cpu", ""});
    all.push_back(i);
  }
  auto session = find_executor("slurm")->open(job);
  ASSERT_TRUE(session.ok());
  const Status submitted = (*session)->submit(all);
  ASSERT_TRUE(submitted.ok()) << submitted.error().text;
  const auto held = (*session)->poll(std::chrono::milliseconds(0));
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->size(), all.size());
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

TEST(Kubernetes, APodThatCannotStartSaysWhyAndItsJobIsEndedInTheEnd) {
  const std::string jobs = R"({"items": [
    {"metadata": {"name": "a", "annotations": {"xsp.units": "0,1"}}, "status": {}}]})";
  const auto pods = [](const std::string& phase, const std::string& reason) {
    return R"({"items": [
    {"metadata": {"labels": {"batch.kubernetes.io/job-name": "a"},
                  "annotations": {"batch.kubernetes.io/job-completion-index": "0"}},
     "status": {"phase": ")" +
           phase + R"("}},
    {"metadata": {"labels": {"batch.kubernetes.io/job-name": "a"},
                  "annotations": {"batch.kubernetes.io/job-completion-index": "1"}},
     "status": {"phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "True"}],
                "containerStatuses": [{"name": "xsp", "state": {"waiting": {"reason": ")" +
           reason + R"(", "message": "no image x:1"}}}]}}]})";
  };
  const std::string stuck = pods("Pending", "ErrImagePull");
  EXPECT_EQ(held_of(jobs, stuck, 2).at(1).why, "ErrImagePull: no image x:1");
  std::map<std::string, double> since;
  EXPECT_TRUE(hopeless_jobs(stuck, 1000, &since).empty());
  EXPECT_TRUE(hopeless_jobs(pods("Pending", "ImagePullBackOff"), 1200, &since).empty());
  EXPECT_EQ(hopeless_jobs(stuck, 1301, &since), std::vector<std::string>{"a"});
  EXPECT_TRUE(hopeless_jobs(pods("Running", "ErrImagePull"), 1302, &since).empty());
  EXPECT_TRUE(hopeless_jobs(stuck, 1303, &since).empty()) << "it is asked anew";
  EXPECT_TRUE(hopeless_jobs(pods("Pending", "ContainerCreating"), 1500, &since).empty());
  EXPECT_TRUE(hopeless_jobs(stuck, 1700, &since).empty()) << "it could start for a while";
  for (const char* foreign : {"{", "[1]", "{\"items\": [3]}"}) {
    EXPECT_TRUE(hopeless_jobs(foreign, 9000, &since).empty());
  }
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
