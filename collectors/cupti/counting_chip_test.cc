// Tests with the chips that CUPTI knows, which needs no GPU to list their counters.
#include "collectors/cupti/counting_chip.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collectors/cupti/counting_formulae.h"
#include "collectors/cupti/counting_permission.h"

namespace xsp::cupti {
namespace {

void* cupti() {
  // libcupti finds this library by its name once it is loaded.
  static void* metrics = dlopen(XSP_CUPTI_FOLDER "/libnvperf_host.so", RTLD_NOW | RTLD_LOCAL);
  static void* library = dlopen(XSP_CUPTI_FOLDER "/libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  return metrics == nullptr ? nullptr : library;
}

// CUPTI loads a library with a flag that AddressSanitizer forbids (RTLD_DEEPBIND).
bool can_load_cupti() {
#ifdef XSP_SANITIZED
  return false;
#else
  return true;
#endif
}
#define XSP_NEEDS_CUPTI()                                                       \
  if (!can_load_cupti()) GTEST_SKIP() << "CUPTI does not run under sanitizers"; \
  ASSERT_NE(cupti(), nullptr) << dlerror()

class OfChip : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    XSP_NEEDS_CUPTI();
    const char* missing = api_.load([](const char* name) { return dlsym(cupti(), name); },
                                    [](const char*) { return reinterpret_cast<void*>(&abort); });
    ASSERT_EQ(missing, nullptr) << missing;
    std::string why;
    chip_ = Chip::open(api_, GetParam(), &why);
    ASSERT_NE(chip_, nullptr) << why;
  }

  CounterPlan plan(const std::vector<std::string>& names) {
    std::vector<std::string> unknown;
    CounterPlan plan = plan_counters(
        names, [&](const std::string& metric) { return chip_->has_metric(metric); }, &unknown);
    EXPECT_TRUE(unknown.empty());
    return plan;
  }

  CountingApi api_;
  std::unique_ptr<Chip> chip_;
};

TEST_P(OfChip, TheRooflineCanBeCounted) {
  const CounterPlan planned = plan({kRoofline});
  std::string why;
  const std::vector<uint8_t> config = chip_->configure(planned.metrics, &why);
  EXPECT_FALSE(config.empty()) << why;
  EXPECT_GT(chip_->passes(), 1u);
  EXPECT_LT(chip_->passes(), 40u);
  // Every chip has these.
  for (const char* absent : {"fp32_flops", "dram_read_bytes", "l2_read_bytes", "occupancy_pct",
                             "sm_throughput_pct", "dram_throughput_pct", "replay_duration_ns"}) {
    EXPECT_EQ(std::count(planned.absent.begin(), planned.absent.end(), absent), 0) << absent;
  }
}

TEST_P(OfChip, EveryNameThatIsOfferedIsAMetric) {
  const std::vector<std::string> names = chip_->metrics();
  ASSERT_GT(names.size(), 1000u);
  for (size_t i = 0; i < names.size(); i += names.size() / 200) {
    EXPECT_TRUE(chip_->has_metric(names[i])) << names[i];
  }
  EXPECT_NE(std::find(names.begin(), names.end(), "dram__bytes_read.sum"), names.end());
}

TEST_P(OfChip, WrongNamesAreFoundOutBeforeTheyAreUsed) {
  EXPECT_TRUE(chip_->has_metric("dram__bytes_read.sum.per_second"));
  for (const char* wrong : {"dram__bytes_red.sum", "dram__bytes_read", "dram__bytes_read.total", "",
                            ".sum", "sm__throughput.sum", "flops"}) {
    EXPECT_FALSE(chip_->has_metric(wrong)) << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, OfChip, testing::Values("GA100", "AD102", "GH100", "GB100"),
                         [](const auto& chip) { return std::string(chip.param); });

TEST(Chip, OneThatIsNotKnownIsSaid) {
  XSP_NEEDS_CUPTI();
  CountingApi api;
  (void)api.load([](const char* name) { return dlsym(cupti(), name); },
                 [](const char*) { return reinterpret_cast<void*>(&abort); });
  std::string why;
  EXPECT_EQ(Chip::open(api, "XX999", &why), nullptr);
  EXPECT_NE(why.find("XX999"), std::string::npos) << why;
}

TEST(Chip, HopperCountsEveryTensorType) {
  XSP_NEEDS_CUPTI();
  CountingApi api;
  (void)api.load([](const char* name) { return dlsym(cupti(), name); },
                 [](const char*) { return reinterpret_cast<void*>(&abort); });
  std::string why;
  const std::unique_ptr<Chip> chip = Chip::open(api, "GH100", &why);
  ASSERT_NE(chip, nullptr) << why;
  std::vector<std::string> unknown;
  const CounterPlan planned = plan_counters(
      {kRoofline}, [&](const std::string& metric) { return chip->has_metric(metric); }, &unknown);
  EXPECT_EQ(planned.absent, std::vector<std::string>{"tensor_half_flops"});
}

TEST(Permission, TheDriversParameterDecides) {
  EXPECT_EQ(forbidden("RmProfilingAdminOnly: 0\n", false), "");
  EXPECT_EQ(forbidden("RmProfilingAdminOnly: 1\n", true), "");
  EXPECT_EQ(forbidden("", false), "");
  EXPECT_NE(forbidden("A: 2\nRmProfilingAdminOnly: 1\n", false).find("not permitted"),
            std::string::npos);
}

TEST(Permission, EveryModeHasItsReason) {
  CUpti_Profiler_DeviceSupported_Params answer{};
  const auto all = [&](CUpti_Profiler_Support_Level level) {
    answer.isSupported = answer.architecture = answer.sli = answer.vGpu =
        answer.confidentialCompute = answer.cmp = answer.wsl = level;
  };
  all(CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
  EXPECT_EQ(unsupported(answer), "");
  answer.isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  answer.vGpu = CUPTI_PROFILER_CONFIGURATION_DISABLED;
  EXPECT_NE(unsupported(answer).find("virtual"), std::string::npos);
  all(CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
  EXPECT_NE(unsupported(answer).find("older"), std::string::npos);
}

TEST(Permission, ARefusalSaysWhatToDo) {
  const CountingApi api;
  for (const CUptiResult result :
       {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_HARDWARE_BUSY, CUPTI_ERROR_UNKNOWN,
        CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_OUT_OF_MEMORY}) {
    const std::string text = refusal(api, result);
    EXPECT_EQ(text.find("hardware counters: "), 0u) << text;
    EXPECT_GE(std::count(text.begin(), text.end(), ':'), 2) << text;
  }
}

}  // namespace
}  // namespace xsp::cupti
