#include "collectors/cupti/counting_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "collectors/cupti/counting_fake.h"
#include "tests/gpu/recorded.h"

namespace xsp::cupti {
namespace {

using gpu_test::Recorded;

constexpr uint32_t kLevels = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);

class Session : public testing::Test {
 protected:
  Session() {
    path_ = std::filesystem::temp_directory_path() /
            ("xsp_counting_" + std::to_string(getpid()) + ".xtrace");
    xsp_options recording{};
    recording.struct_size = sizeof recording;
    const std::string text = path_.string();
    recording.path = text.c_str();
    EXPECT_EQ(xsp_start(&recording), 0);
    options_.levels = kLevels;
    options_.counters = {"dram__bytes_write.sum", "dram_read_bytes"};
  }
  ~Session() override {
    xsp_stop();
    std::filesystem::remove(path_);
  }

  bool open() {
    session_ = CountingSession::open(
        api_, "FAKE", options_, &sites_, [&](const std::string& text) { notes_.push_back(text); },
        &why_);
    return session_ != nullptr;
  }

  // Runs an inference that launches these kernels; the grid distinguishes launches of one name.
  void infer(const std::vector<std::pair<const char*, unsigned>>& kernels) {
    session_->begin();
    for (const auto& [name, grid] : kernels) fake_.launch(name, grid);
    session_->end(nullptr);
  }

  Recorded finish() {
    if (session_ != nullptr) session_->finish();
    session_.reset();
    xsp_stop();
    Result<Recorded> recorded = gpu_test::read_recorded(path_.string());
    EXPECT_TRUE(recorded.ok());
    return std::move(*recorded);
  }

  bool is_noted(const std::string& part) const {
    for (const std::string& note : notes_) {
      if (note.find(part) != note.npos) return true;
    }
    return false;
  }

  static std::vector<const gpu_test::Span*> kernels_of(const Recorded& recorded) {
    std::vector<const gpu_test::Span*> kernels;
    for (const gpu_test::Span& span : recorded.spans) {
      if (span.found.level == XSP_LEVEL_KERNEL) kernels.push_back(&span);
    }
    std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
      return a->found.start_ns < b->found.start_ns;
    });
    return kernels;
  }
  static uint64_t lost(const Recorded& recorded) {
    uint64_t count = 0;
    for (const auto& loss : recorded.losses) count += loss.count;
    return count;
  }

  FakeProfiler& fake_ = FakeProfiler::reset();
  CountingApi api_ = FakeProfiler::api();
  CountingOptions options_;
  KernelSites sites_{[](uint32_t) { return DeviceLimits{}; }};
  std::unique_ptr<CountingSession> session_;
  std::vector<std::string> notes_;
  std::string why_;
  std::filesystem::path path_;
};

TEST_F(Session, EveryKernelHasItsOwnCountersBelowItsLaunch) {
  options_.replay = XSP_REPLAY_KERNEL;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  EXPECT_EQ(session_->runs_needed(), 1u);
  infer({{"_Z4axpyPf", 1}, {"_Z4axpyPf", 2}, {"gemm", 3}});
  const Recorded recorded = finish();
  const auto kernels = kernels_of(recorded);
  ASSERT_EQ(kernels.size(), 3u);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto range = 1000.0 * static_cast<double>(i + 1);
    EXPECT_EQ(kernels[i]->numbers.at("dram__bytes_write.sum"), range);
    EXPECT_EQ(kernels[i]->numbers.at("dram_read_bytes"), range + 1);
    EXPECT_EQ(kernels[i]->attributes.at("grid"), "[" + std::to_string(i + 1) + ",1,1]");
    EXPECT_EQ(kernels[i]->counters.at("registers_per_thread"), 40);
    const gpu_test::Span* parent = recorded.parent(*kernels[i]);
    ASSERT_NE(parent, nullptr);
    EXPECT_EQ(parent->name, "cuLaunchKernel");
    EXPECT_EQ(parent->type, "launch");
    const int64_t before = i == 0 ? 0 : kernels[i - 1]->found.end_ns;
    EXPECT_GE(kernels[i]->found.start_ns, before);
  }
  EXPECT_EQ(kernels[0]->name, "axpy(float*)");
  // The duration is counted although it was not requested, and it is not shown.
  EXPECT_EQ(kernels[0]->found.end_ns - kernels[0]->found.start_ns, 1002);
  EXPECT_EQ(kernels[0]->numbers.count("gpu__time_duration.sum"), 0u);
  EXPECT_EQ(lost(recorded), 0u);
  EXPECT_TRUE(is_noted("3 passes over each kernel"));
  EXPECT_EQ(fake_.enabled, 1);
  EXPECT_EQ(fake_.disabled, 1);
}

TEST_F(Session, ApplicationReplayTakesAPassWithEachInference) {
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  ASSERT_EQ(session_->runs_needed(), 3u);
  EXPECT_TRUE(is_noted("3 inferences"));
  for (int i = 0; i < 3; ++i) infer({{"a", 1}, {"b", 1}});
  EXPECT_EQ(fake_.mode, CUPTI_UserReplay);
  const Recorded recorded = finish();
  const auto kernels = kernels_of(recorded);
  // Each inference has its kernels, all with the counts over the three inferences.
  ASSERT_EQ(kernels.size(), 6u);
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i]->name, i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(kernels[i]->numbers.at("dram_read_bytes"), i % 2 == 0 ? 1001 : 2001);
  }
  EXPECT_EQ(lost(recorded), 0u);
}

TEST_F(Session, InferencesThatDifferAreSaidAndTheirKernelsNotCounted) {
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  infer({{"a", 1}, {"b", 1}, {"c", 1}});
  infer({{"a", 1}, {"x", 1}, {"c", 1}});
  infer({{"a", 1}, {"b", 1}, {"c", 1}});
  const Recorded recorded = finish();
  size_t counted = 0;
  for (const auto* kernel : kernels_of(recorded)) {
    const bool has_it = kernel->numbers.count("dram_read_bytes") != 0;
    EXPECT_EQ(has_it, kernel->name == "a") << kernel->name;
    counted += has_it ? 1 : 0;
  }
  EXPECT_EQ(counted, 3u);
  EXPECT_EQ(lost(recorded), 2u);
  EXPECT_TRUE(is_noted("inference 2 launched other kernels"));
}

TEST_F(Session, PassesThatDoNotComeAreLost) {
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  infer({{"a", 1}});
  infer({{"a", 1}});
  const Recorded recorded = finish();
  ASSERT_EQ(kernels_of(recorded).size(), 2u);
  EXPECT_TRUE(kernels_of(recorded)[0]->numbers.empty());
  EXPECT_EQ(lost(recorded), 2u);
  EXPECT_TRUE(is_noted("after 2 of 3 passes"));
}

TEST_F(Session, ReuseCopiesToEqualKernelsAndCountsNewOnes) {
  options_.replay = XSP_REPLAY_KERNEL;
  options_.reuse = true;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  infer({{"a", 1}, {"b", 1}});
  fake_.executed = 0;
  infer({{"b", 1}, {"a", 1}});
  EXPECT_EQ(fake_.executed, 0u) << "the second inference was counted again";
  infer({{"b", 2}});  // another grid
  infer({{"b", 2}});
  const Recorded recorded = finish();
  const auto kernels = kernels_of(recorded);
  ASSERT_EQ(kernels.size(), 6u);
  EXPECT_EQ(kernels[0]->numbers.count("counters_reused"), 0u);
  EXPECT_EQ(kernels[2]->numbers.at("dram_read_bytes"), 2001);
  EXPECT_EQ(kernels[2]->numbers.at("counters_reused"), 2);
  EXPECT_EQ(kernels[3]->numbers.at("dram_read_bytes"), 1001);
  // The kernel with another grid appears once without counters and once counted.
  EXPECT_EQ(
      kernels[4]->numbers.count("dram_read_bytes") + kernels[5]->numbers.count("dram_read_bytes"),
      1u);
  EXPECT_EQ(lost(recorded), 1u);
  EXPECT_TRUE(is_noted("reused"));
}

TEST_F(Session, WhatIsCapturedOrFailsIsNoLaunch) {
  options_.replay = XSP_REPLAY_KERNEL;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  session_->begin();
  fake_.is_capturing = true;
  fake_.launch("captured", 1);
  fake_.is_capturing = false;
  fake_.launch_result = CUDA_ERROR_INVALID_VALUE;
  fake_.launch("failed", 1);
  fake_.launch_result = CUDA_SUCCESS;
  fake_.launch("real", 1);
  session_->end(nullptr);
  const Recorded recorded = finish();
  ASSERT_EQ(kernels_of(recorded).size(), 1u);
  EXPECT_EQ(kernels_of(recorded)[0]->name, "real");
  EXPECT_EQ(lost(recorded), 0u);
}

TEST_F(Session, AGraphIsCountedAsAWholeOnTheModelsSpan) {
  fake_.metrics.insert({"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
                        "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum",
                        "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"});
  options_.counters.emplace_back("fp16_flops");
  ASSERT_TRUE(open()) << why_;
  fake_.launch_graph();
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "model");
  for (int i = 0; i < 3; ++i) {
    xsp_span model = xsp_begin(&model_site);
    session_->begin();
    fake_.launch_graph();
    session_->end(&model);
    xsp_end(&model);
  }
  EXPECT_EQ(fake_.scope, CUPTI_UserRange);
  const Recorded recorded = finish();
  EXPECT_TRUE(kernels_of(recorded).empty());
  std::vector<double> counted;
  for (const gpu_test::Span& span : recorded.spans) {
    if (span.found.level != XSP_LEVEL_MODEL || span.numbers.empty()) continue;
    counted.push_back(span.numbers.at("dram_read_bytes"));
    EXPECT_EQ(span.numbers.count("fp16_flops"), 0u) << "its kernels are not instrumented";
  }
  EXPECT_EQ(counted, std::vector<double>{1001});
  EXPECT_EQ(lost(recorded), 3u);
  EXPECT_TRUE(is_noted("without fp16_flops"));
}

TEST_F(Session, AGraphAmongKernelsThatAreCountedEndsTheCounting) {
  options_.replay = XSP_REPLAY_KERNEL;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  session_->begin();
  fake_.launch_graph();
  session_->end(nullptr);
  session_->begin();
  EXPECT_FALSE(fake_.is_running);
  session_->end(nullptr);
  const Recorded recorded = finish();
  EXPECT_EQ(lost(recorded), 1u);
  EXPECT_TRUE(is_noted("CUDA graph"));
}

TEST_F(Session, ARefusalIsSaidAndKernelsStayWithoutCounters) {
  fake_.enable_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  infer({{"a", 1}});
  infer({{"a", 1}});
  const Recorded recorded = finish();
  EXPECT_EQ(kernels_of(recorded).size(), 2u);
  EXPECT_EQ(lost(recorded), 2u);
  EXPECT_TRUE(is_noted("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_EQ(std::count_if(notes_.begin(), notes_.end(),
                          [](const auto& note) { return note.find("NVreg") != note.npos; }),
            1);
}

TEST_F(Session, MoreKernelsThanThereIsRoomForHaveItNextTime) {
  options_.replay = XSP_REPLAY_KERNEL;
  ASSERT_TRUE(open()) << why_;
  fake_.launch("warm", 1);
  const std::vector<std::pair<const char*, unsigned>> many(300, {"a", 1});
  infer(many);
  infer(many);
  const Recorded recorded = finish();
  const auto kernels = kernels_of(recorded);
  ASSERT_EQ(kernels.size(), 600u);
  EXPECT_EQ(std::count_if(
                kernels.begin(), kernels.end(),
                [](const auto* kernel) { return kernel->numbers.count("dram_read_bytes") != 0; }),
            64 + 300);
  EXPECT_EQ(lost(recorded), 300u - 64u);
}

TEST_F(Session, AnotherSubscriberOrAWrongNameIsSaidAtOnce) {
  fake_.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_FALSE(open());
  EXPECT_NE(why_.find("another profiler"), std::string::npos) << why_;
  fake_.subscribe_result = CUPTI_SUCCESS;
  options_.counters = {"dram__bytes_red.sum"};
  EXPECT_FALSE(open());
  EXPECT_NE(why_.find("dram__bytes_red.sum"), std::string::npos) << why_;
}

}  // namespace
}  // namespace xsp::cupti
