// Tests the whole collector with a fake CUPTI that plays prepared records (fake/control.h).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "collectors/cupti/fake/control.h"
#include "tests/gpu/recorded.h"
#include "tests/places.h"
#include "xsp/plugin.h"

namespace xsp::cupti {
namespace {

using gpu_test::Recorded;
using gpu_test::Span;

constexpr uint32_t kApi = XSP_LEVEL_BIT(XSP_LEVEL_API);
constexpr uint32_t kKernel = XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);

xsp_layer_mark open_mark{0, 0};

class TracingTest : public ::testing::Test {
 protected:
  TracingTest() {
    std::string form = (std::filesystem::temp_directory_path() / "xsp_test_XXXXXX").string();
    folder_ = mkdtemp(form.data());
    load(places::build("tests/fake_cuda/libcuda.so.1"));
    void* cupti = load(places::build("tests/fake_cuda/libcupti.so.13"));
    const auto get = reinterpret_cast<fake::Control* (*)()>(dlsym(cupti, "fake_cupti_control"));
    fake_ = get();
    *fake_ = fake::Control{};
    get();
    collector_ = static_cast<const xsp_collector*>(
        dlsym(load(places::build("lib/xsp/collectors/cupti.so")), XSP_COLLECTOR_SYMBOL));
    host_.struct_size = sizeof host_;
    host_.context = this;
    host_.fail = [](void* self, const char* text) { static_cast<TracingTest*>(self)->why_ = text; };
    host_.note = [](void* self, const char* text) {
      static_cast<TracingTest*>(self)->notes_ += std::string(text) + '\n';
    };
    xsp_offer_open_layer([] { return open_mark; });
  }
  ~TracingTest() override {
    xsp_stop();
    xsp_offer_open_layer(nullptr);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static void* load(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return library;
  }
  std::string path() const { return (folder_ / "a.xtrace").string(); }

  xsp_status probe() {
    xsp_collector_probe probe{};
    probe.struct_size = sizeof probe;
    return collector_->probe(&host_, &probe);
  }
  xsp_status start(uint32_t levels = kApi | kKernel) {
    xsp_options recording{};
    recording.struct_size = sizeof recording;
    const std::string file = path();
    recording.path = file.c_str();
    EXPECT_EQ(xsp_start(&recording), 0);
    xsp_collect_options options{};
    options.struct_size = sizeof options;
    options.levels = levels;
    return collector_->start(&host_, &options);
  }
  Recorded stop() {
    EXPECT_EQ(collector_->stop(), XSP_OK);
    EXPECT_EQ(xsp_stop(), 0);
    Result<Recorded> recorded = gpu_test::read_recorded(path());
    EXPECT_TRUE(recorded.ok());
    return std::move(recorded).value();
  }

  // Returns the time of a record, `at` ns after the fixture began.
  uint64_t time(uint64_t at) const { return begin_ + at; }
  CUpti_ActivityKernel10 kernel(const char* name, uint32_t correlation, uint64_t at) const {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.name = name;
    record.correlationId = correlation;
    record.start = time(at);
    record.end = time(at + 1000);
    record.streamId = 7;
    record.gridX = 264;
    record.gridY = record.gridZ = 1;
    record.blockX = 256;
    record.blockY = record.blockZ = 1;
    record.registersPerThread = 128;
    return record;
  }
  CUpti_ActivityAPI call(CUpti_ActivityKind kind, uint32_t id, uint32_t correlation, uint64_t at,
                         uint64_t duration = 500) const {
    CUpti_ActivityAPI record{};
    record.kind = kind;
    record.cbid = id;
    record.correlationId = correlation;
    record.threadId = static_cast<uint32_t>(gettid());
    record.start = time(at);
    record.end = time(at + duration);
    return record;
  }
  // Returns the record of 1 MiB, by the call 5.
  static CUpti_ActivityMemory4 allocation(uint64_t address, uint64_t time_ns) {
    CUpti_ActivityMemory4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record.address = address;
    record.bytes = 1 << 20;
    record.timestamp = time_ns;
    record.correlationId = 5;
    return record;
  }
  static std::vector<const Span*> of_level(const Recorded& recorded, uint32_t level) {
    std::vector<const Span*> found;
    for (const Span& span : recorded.spans) {
      if (span.found.level == level) found.push_back(&span);
    }
    return found;
  }
  static uint64_t loss(const Recorded& recorded, const std::string& cause) {
    for (const trace::Loss& one : recorded.losses) {
      if (one.source == "cupti" && one.cause == cause) return one.count;
    }
    return 0;
  }

  std::filesystem::path folder_;
  fake::Control* fake_ = nullptr;
  const xsp_collector* collector_ = nullptr;
  xsp_host host_{};
  std::string why_;
  std::string notes_;
  uint64_t begin_ = 0;
};

TEST_F(TracingTest, LevelsAreSwitchedWhileItRuns) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  EXPECT_FALSE(fake_->calls.empty());
  collector_->set_levels(0);
  EXPECT_TRUE(fake_->kinds.empty());
  EXPECT_TRUE(fake_->calls.empty());
  collector_->set_levels(kKernel);
  EXPECT_EQ(fake_->kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1u);
  EXPECT_TRUE(fake_->calls.empty());
  fake_->play(kernel("axpy", 1, 10));
  // Events from before this call are still emitted.
  collector_->set_levels(0);
  EXPECT_EQ(of_level(stop(), XSP_LEVEL_KERNEL).size(), 1u);
}

TEST_F(TracingTest, NoMoreThanItWasStartedWith) {
  ASSERT_EQ(start(kKernel), XSP_OK) << why_;
  collector_->set_levels(XSP_LEVELS_ALL);
  EXPECT_TRUE(fake_->calls.empty());
  stop();
}

TEST_F(TracingTest, SwitchesOnWhatIsAskedForAndOffAgain) {
  EXPECT_EQ(probe(), XSP_OK);
  EXPECT_TRUE(fake_->kinds.empty());
  ASSERT_EQ(start(), XSP_OK) << why_;
  EXPECT_EQ(fake_->kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1u);
  EXPECT_EQ(fake_->kinds.count(CUPTI_ACTIVITY_KIND_KERNEL), 0u);
  EXPECT_EQ(fake_->kinds.count(CUPTI_ACTIVITY_KIND_RUNTIME), 0u);
  EXPECT_EQ(fake_->calls.count({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kLaunchKernel}), 1u);
  EXPECT_EQ(fake_->calls.count({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kGetDevice}), 0u);
  EXPECT_EQ(fake_->calls.count({CUPTI_CB_DOMAIN_DRIVER_API, fake::kDriverLaunchKernel}), 1u);
  EXPECT_TRUE(fake_->has_system_threads);
  EXPECT_TRUE(fake_->is_subscribed);
  stop();
  EXPECT_TRUE(fake_->kinds.empty());
  EXPECT_TRUE(fake_->calls.empty());
  EXPECT_FALSE(fake_->is_subscribed);
}

TEST_F(TracingTest, CallsThatTheDriverDoesNotHaveAreLeftOut) {
  fake_->unknown.insert({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kGraphLaunch});
  start(XSP_LEVELS_ALL);
  EXPECT_EQ(fake_->calls.count({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kGraphLaunch}), 0u);
  EXPECT_EQ(fake_->calls.count({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kLaunchKernel}), 1u);
  stop();
}

TEST_F(TracingTest, ADefectIsSaidWhenItMatters) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  stop();
  notes_ = "";
  ASSERT_EQ(start(), XSP_OK) << why_;  // a second recording in this process
  stop();
  EXPECT_NE(notes_.find("CUPTI 13.0.1: in the second recording"), notes_.npos) << notes_;
}

TEST_F(TracingTest, KernelsAloneNeedNoCalls) {
  ASSERT_EQ(start(kKernel), XSP_OK) << why_;
  EXPECT_TRUE(fake_->calls.empty());
  EXPECT_EQ(fake_->kinds.count(CUPTI_ACTIVITY_KIND_MEMORY2), 0u);
  stop();
}

TEST_F(TracingTest, AKernelBelongsToTheLayerThatLaunchedIt) {
  fake_->clock_ahead_ns = 5'000'000'000;  // it differs from the trace's clock
  static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "model");
  static xsp_site layer = XSP_SITE(XSP_LEVEL_LAYER, "conv");
  ASSERT_EQ(start(), XSP_OK) << why_;
  xsp_span outer = xsp_begin(&model);
  xsp_span inner = xsp_begin(&layer);
  begin_ = fake_->now_ns();
  // A launch takes a microsecond, while the layer lasts longer.
  fake_->play(call(CUPTI_ACTIVITY_KIND_DRIVER, fake::kDriverLaunchKernel, 42, 100, 300));
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kLaunchKernel, 42, 0, 1000));
  while (fake_->now_ns() < begin_ + 10'000) {
  }
  xsp_end(&inner);
  xsp_end(&outer);
  fake_->play(kernel("_Z4axpyIfEviPT_", 42, 50'000));
  const Recorded recorded = stop();
  const auto kernels = of_level(recorded, XSP_LEVEL_KERNEL);
  const auto calls = of_level(recorded, XSP_LEVEL_API);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(calls.size(), 1u);  // without the driver's call
  EXPECT_EQ(calls[0]->name, "cudaLaunchKernel");
  EXPECT_EQ(calls[0]->type, "launch");
  EXPECT_EQ(calls[0]->found.thread, static_cast<uint32_t>(gettid()));
  const Span& kernel = *kernels[0];
  EXPECT_EQ(kernel.name, "void axpy<float>(int, float*)");
  EXPECT_EQ(kernel.type, "kernel");
  EXPECT_EQ(kernel.found.device, 1u);  // cuda:0
  EXPECT_EQ(kernel.found.stream, 8u);  // stream 7
  EXPECT_EQ(kernel.found.parent_id, calls[0]->found.id);
  ASSERT_NE(recorded.of_id(kernel.found.layer_id), nullptr);
  EXPECT_EQ(recorded.of_id(kernel.found.layer_id)->name, "conv");
  EXPECT_NEAR(static_cast<double>(kernel.found.start_ns - calls[0]->found.start_ns), 50'000, 100);
  EXPECT_NEAR(static_cast<double>(kernel.found.end_ns - kernel.found.start_ns), 1000, 2);
  EXPECT_EQ(kernel.attributes.at("mangled_name"), "_Z4axpyIfEviPT_");
  EXPECT_EQ(kernel.attributes.at("grid"), "[264,1,1]");
  EXPECT_EQ(kernel.attributes.at("block"), "[256,1,1]");
  EXPECT_EQ(kernel.attributes.at("occupancy_limiter"), "registers");
  EXPECT_DOUBLE_EQ(kernel.counters.at("theoretical_occupancy_pct"), 25);
  EXPECT_DOUBLE_EQ(kernel.counters.at("waves"), 1);
  EXPECT_DOUBLE_EQ(kernel.counters.at("registers_per_thread"), 128);
  EXPECT_EQ(recorded.facts.executions_unmatched, 0u);
  EXPECT_EQ(recorded.facts.unattributed, 0u);
}

TEST_F(TracingTest, CopiesAndMemsetsTellTheirBytes) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  begin_ = fake_->now_ns();
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = time(0);
  copy.end = time(10);
  copy.correlationId = 1;
  fake_->play(copy);
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kMemcpyAsync, 1, 0));
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kMemcpyAsync, 2, 1000));  // no bytes
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 100;
  set.start = time(20);
  set.end = time(30);
  set.deviceId = 3;
  fake_->play(set);
  CUpti_ActivityMemcpyPtoP4 across{};
  across.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  across.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  across.srcKind = across.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  across.bytes = 7;
  across.start = time(40);
  across.end = time(50);
  across.deviceId = 1;
  fake_->play(across);
  const Recorded recorded = stop();
  const auto found = of_level(recorded, XSP_LEVEL_KERNEL);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2]->name, "memcpy PtoP");
  EXPECT_EQ(found[2]->numbers.at("bytes"), 7);
  EXPECT_EQ(found[2]->found.device, 2u);
  const auto calls = of_level(recorded, XSP_LEVEL_API);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->found.correlation_id, 1u);
  EXPECT_EQ(calls[1]->found.correlation_id, 0u);
  EXPECT_EQ(found[0]->name, "memcpy HtoD");
  EXPECT_EQ(found[0]->type, "memcpy");
  EXPECT_EQ(found[0]->numbers.at("bytes"), 4096);
  EXPECT_EQ(found[0]->attributes.at("memory"), "pinned to device");
  EXPECT_EQ(found[1]->name, "memset");
  EXPECT_EQ(found[1]->numbers.at("bytes"), 100);
  EXPECT_EQ(found[1]->found.device, 4u);
}

TEST_F(TracingTest, AFailedLaunchSaysSoAndLaunchesNothing) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  begin_ = fake_->now_ns();
  CUpti_ActivityAPI failed = call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kLaunchKernel, 9, 0);
  failed.returnValue = 9;
  fake_->play(failed);
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kGetDevice, 10, 1000));  // not chosen
  const Recorded recorded = stop();
  const auto calls = of_level(recorded, XSP_LEVEL_API);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->numbers.at("error"), 9);
  EXPECT_EQ(calls[0]->found.correlation_id, 0u);
}

TEST_F(TracingTest, KernelsOfAGraphKnowTheLayerOfTheirCapture) {
  static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "model");
  const uint32_t conv = xsp_intern_site(XSP_LEVEL_LAYER, "graph conv", "Conv");
  const uint32_t relu = xsp_intern_site(XSP_LEVEL_LAYER, "graph relu", "Relu");
  ASSERT_EQ(start(), XSP_OK) << why_;
  // Three nodes are captured: two in conv, one in relu. The graph is instantiated, and the captured
  // graph is destroyed.
  begin_ = fake_->now_ns();
  open_mark = {conv, 1};
  fake_->play_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 1);
  fake_->play_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 2);
  open_mark = {relu, 2};
  fake_->play_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 3);
  open_mark = {0, 0};
  // The captured call is not a launch.
  fake_->play(
      call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kLaunchKernel, 40, 0, fake_->now_ns() - begin_));
  for (const uint64_t node : {1, 2, 3}) {
    fake_->play_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 100 + node, node);
    fake_->play_event(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, node);
  }
  xsp_span run = xsp_begin(&model);
  begin_ = fake_->now_ns();
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kGraphLaunch, 50, 0));
  while (fake_->now_ns() < begin_ + 50'000) {
  }
  xsp_end(&run);
  for (const uint64_t node : {1, 2, 3}) {
    CUpti_ActivityKernel10 record = kernel("k", 50, node * 2000);
    record.graphNodeId = 100 + node;
    fake_->play(record);
  }
  const Recorded recorded = stop();
  const auto kernels = of_level(recorded, XSP_LEVEL_KERNEL);
  const auto layers = of_level(recorded, XSP_LEVEL_LAYER);
  ASSERT_EQ(kernels.size(), 3u);
  ASSERT_EQ(layers.size(), 2u);
  std::vector<std::string> names;
  for (const Span* one : kernels) {
    const Span* layer = recorded.of_id(one->found.layer_id);
    ASSERT_NE(layer, nullptr);
    names.push_back(layer->name);
    ASSERT_NE(recorded.of_id(one->found.model_id), nullptr);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"graph conv", "graph conv", "graph relu"}));
  // Each end is converted from the device's clock, and rounded.
  const auto length = static_cast<double>(layers[0]->found.end_ns - layers[0]->found.start_ns);
  EXPECT_NEAR(length, 3000, 1);
  EXPECT_EQ(layers[0]->found.correlation_id, 50u);
  EXPECT_EQ(recorded.facts.launches, 1u);
  EXPECT_EQ(recorded.facts.launches_unmatched, 0u);
}

TEST_F(TracingTest, MemoryIsFollowed) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  begin_ = fake_->now_ns();
  fake_->play(allocation(0x1000, time(200)));
  fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kMalloc, 5, 0, 1000));
  const Recorded recorded = stop();
  const auto calls = of_level(recorded, XSP_LEVEL_API);
  ASSERT_EQ(calls.size(), 2u);
  const Span& event = *calls[0];
  EXPECT_EQ(event.name, "allocate");
  EXPECT_EQ(event.type, "memory");
  EXPECT_EQ(event.found.start_ns, event.found.end_ns);
  EXPECT_EQ(event.numbers.at("bytes"), 1 << 20);
  EXPECT_EQ(event.numbers.at("allocated_bytes"), 1 << 20);
  EXPECT_EQ(event.texts.at("pool"), "device of cuda:0");
  ASSERT_NE(recorded.parent(event), nullptr);
  EXPECT_EQ(recorded.parent(event)->name, "cudaMalloc");
}

// Allocations and releases of a pause are not known.
TEST_F(TracingTest, MemoryHasNoTotalAfterAPause) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  collector_->set_levels(kApi);  // a turn that has the calls is no pause
  fake_->play(allocation(0x1000, fake_->now_ns()));
  collector_->set_levels(kKernel);
  collector_->set_levels(kApi | kKernel);
  fake_->play(allocation(0x2000, fake_->now_ns()));
  const Recorded recorded = stop();
  const auto events = of_level(recorded, XSP_LEVEL_API);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]->numbers.at("allocated_bytes"), 1 << 20);
  EXPECT_EQ(events[1]->numbers.count("allocated_bytes"), 0u);
  EXPECT_EQ(events[1]->numbers.at("bytes"), 1 << 20);
  EXPECT_EQ(events[1]->texts.at("pool"), "device of cuda:0");
}

TEST_F(TracingTest, WhatIsLostIsCounted) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  begin_ = fake_->now_ns();
  CUpti_ActivityKernel10 unfinished = kernel("k", 1, 0);
  unfinished.end = 0;
  fake_->play(unfinished);
  CUpti_Activity unknown{};
  unknown.kind = static_cast<CUpti_ActivityKind>(999);
  fake_->play(unknown);
  fake_->dropped = 7;
  fake_->hand_back();
  const Recorded recorded = stop();
  EXPECT_EQ(loss(recorded, "execution without times"), 1u);
  EXPECT_EQ(loss(recorded, "unreadable buffer"), 1u);
  EXPECT_EQ(loss(recorded, "buffers full"), 7u);
}

TEST_F(TracingTest, ManyBuffersComeThroughWhole) {
  ASSERT_EQ(start(), XSP_OK) << why_;
  begin_ = fake_->now_ns();
  constexpr uint32_t kLaunches = 60'000;  // fills three buffers
  for (uint32_t i = 1; i <= kLaunches; ++i) {
    fake_->play(call(CUPTI_ACTIVITY_KIND_RUNTIME, fake::kLaunchKernel, i, i * 100, 50));
    CUpti_ActivityKernel10 record = kernel("k", i, i * 100);
    record.end = record.start + 60;
    fake_->play(record);
  }
  const Recorded recorded = stop();
  EXPECT_EQ(of_level(recorded, XSP_LEVEL_KERNEL).size(), kLaunches);
  EXPECT_EQ(of_level(recorded, XSP_LEVEL_API).size(), kLaunches);
  EXPECT_EQ(recorded.facts.executions_unmatched, 0u);
  EXPECT_TRUE(recorded.losses.empty());
}

TEST_F(TracingTest, ATakenSubscriptionCostsTheLayersOfGraphsAlone) {
  fake_->subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  ASSERT_EQ(start(), XSP_OK) << why_;
  EXPECT_NE(notes_.find("only subscription"), notes_.npos) << notes_;
  begin_ = fake_->now_ns();
  fake_->play(kernel("k", 1, 0));
  EXPECT_EQ(of_level(stop(), XSP_LEVEL_KERNEL).size(), 1u);
}

TEST_F(TracingTest, ARefusalSaysWhyAndWhatToDo) {
  fake_->refused[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  EXPECT_EQ(probe(), XSP_NOT_AVAILABLE);
  EXPECT_NE(why_.find("CUPTI 13.0.1: kernels cannot be recorded"), why_.npos) << why_;
  EXPECT_NE(why_.find("NVreg_RestrictProfilingToAdminUsers"), why_.npos) << why_;
  EXPECT_EQ(start(), XSP_NOT_AVAILABLE);
  EXPECT_FALSE(fake_->is_subscribed);
  EXPECT_TRUE(fake_->kinds.empty());
}

TEST_F(TracingTest, AnotherProfilerThatHoldsCuptiIsNamed) {
  fake_->refused[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] =
      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  setenv("CUDA_INJECTION64_PATH", "/opt/tool/libtool.so", 1);
  EXPECT_EQ(probe(), XSP_NOT_AVAILABLE);
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_NE(why_.find("/opt/tool/libtool.so"), why_.npos) << why_;
}

}  // namespace
}  // namespace xsp::cupti
