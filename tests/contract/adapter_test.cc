// Tests the requirements on every adapter; see xsp/plugin.h. Runs over all adapters that were
// built.
#include "adapter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "trace_file.h"
#include "xsp/plugin.hpp"

namespace xsp::contract {
namespace {

constexpr uint32_t kModel = XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
constexpr uint32_t kLayers = kModel | XSP_LEVEL_BIT(XSP_LEVEL_LAYER);
// Tolerance between two clocks of one machine, for times of a profiler that are converted.
constexpr int64_t kJitterNs = 20'000;

class AdapterTest : public testing::TestWithParam<std::filesystem::path> {
 protected:
  AdapterTest() : manifest_(read_manifest(GetParam())), adapter_(GetParam()) {}

  void SetUp() override {
    if (adapter_.entry() == nullptr) {
      // If the tree was built elsewhere, an adapter may need a library that is missing here.
      const std::string why = adapter_.take_why();
      ASSERT_TRUE(is_moved() && why.find("cannot open shared object file") != std::string::npos)
          << why;
      GTEST_SKIP() << "skipped: " << why;
    }
    xsp_probe probe{};
    probe.struct_size = sizeof probe;
    if (adapter_->probe(adapter_.host(), &probe) == XSP_NOT_AVAILABLE) {
      GTEST_SKIP() << "skipped: " << adapter_.take_why();
    }
  }

  // Checks that a failure has a reason, on one line.
  void expect_why() {
    const std::string why = adapter_.take_why();
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    EXPECT_NE(why.find(": "), std::string::npos) << why;
    EXPECT_LT(why.size(), 1000u) << why;
  }

  // Runs the model as the worker does, recording to a file, and returns the recorded spans.
  TraceFile record(uint32_t levels, int iterations) {
    const std::string path = (trace_.path() / "t.xtrace").string();
    xsp_options options{};
    options.struct_size = sizeof options;
    options.path = path.c_str();
    options.levels = levels;
    EXPECT_EQ(xsp_start(&options), 0);
    const uint32_t id = xsp_intern_site(XSP_LEVEL_MODEL, "model", nullptr);
    {
      Model model(adapter_, manifest_.model, levels, id);
      EXPECT_EQ(model.status(), XSP_OK) << adapter_.take_why();
      if (model.status() == XSP_OK) {
        EXPECT_EQ(model.set(model.make_inputs(1)), XSP_OK) << adapter_.take_why();
        xsp_site site = {"model", nullptr, XSP_LEVEL_MODEL, id};
        for (int i = 0; i < iterations; ++i) {
          xsp_span span = xsp_begin(&site);
          EXPECT_EQ(model.run(), XSP_OK) << adapter_.take_why();
          xsp_end(&span);
        }
        EXPECT_EQ(adapter_->flush(model.get()), XSP_OK) << adapter_.take_why();
        EXPECT_EQ(adapter_->flush(model.get()), XSP_OK) << adapter_.take_why();
      }
    }
    EXPECT_EQ(xsp_stop(), 0);
    return read_trace(path);
  }

  Manifest manifest_;
  Adapter adapter_;
  Scratch trace_;
};

TEST_P(AdapterTest, SaysWhatItIs) {
  EXPECT_EQ(adapter_->abi, static_cast<uint32_t>(XSP_PLUGIN_ABI));
  EXPECT_EQ(adapter_->name, GetParam().stem().string());
  EXPECT_STRNE(adapter_->help, "");
  xsp_probe probe{};
  probe.struct_size = sizeof probe;
  ASSERT_EQ(adapter_->probe(adapter_.host(), &probe), XSP_OK);
  EXPECT_STRNE(probe.version, "");
  EXPECT_STRNE(probe.library, "");
  const std::string device = device_of(adapter_);
  EXPECT_NE(std::strstr(probe.devices, device.substr(0, device.find(':')).c_str()), nullptr);
  EXPECT_STRNE(probe.formats, "");
}

TEST_P(AdapterTest, FillsNoMoreThanTheCallersRoom) {
  xsp_probe probe;
  std::memset(&probe, 0x5a, sizeof probe);
  const xsp_probe before = probe;
  probe.struct_size = offsetof(xsp_probe, devices);
  ASSERT_EQ(adapter_->probe(adapter_.host(), &probe), XSP_OK);
  EXPECT_LE(probe.struct_size, offsetof(xsp_probe, devices));
  EXPECT_STRNE(probe.version, "");
  EXPECT_EQ(probe.devices, before.devices);
  EXPECT_EQ(probe.formats, before.formats);
}

TEST_P(AdapterTest, TakesOlderAndNewerStructs) {
  struct {
    xsp_open_options options;
    char more[64];
  } newer;
  std::memset(&newer, 0x5a, sizeof newer);
  const std::string device = device_of(adapter_);
  newer.options = options_of(manifest_.model, device, kModel);
  newer.options.struct_size = sizeof newer;
  xsp_model* model = nullptr;
  ASSERT_EQ(adapter_->open(adapter_.host(), &newer.options, &model), XSP_OK) << adapter_.take_why();
  adapter_->close(model);

  newer.options.struct_size = offsetof(xsp_open_options, model_site);
  newer.options.model_site = 0x5a5a5a5a;  // beyond the struct's size: must be ignored
  std::memset(&newer.options.inputs, 0x5a, sizeof newer.options.inputs);  // likewise
  ASSERT_EQ(adapter_->open(adapter_.host(), &newer.options, &model), XSP_OK) << adapter_.take_why();

  // Tensors of a newer caller are larger.
  struct Newer {
    xsp_tensor tensor;
    char more[24];
  };
  Model same(adapter_, manifest_.model, kModel);
  const std::vector<OwnTensor> inputs = same.make_inputs(1);
  std::vector<Newer> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::memset(&tensors[i], 0x5a, sizeof tensors[i]);
    tensors[i].tensor = inputs[i].view();
    tensors[i].tensor.struct_size = sizeof(Newer);
  }
  EXPECT_EQ(adapter_->set_inputs(model, &tensors[0].tensor, tensors.size()), XSP_OK)
      << adapter_.take_why();
  EXPECT_EQ(adapter_->run(model), XSP_OK) << adapter_.take_why();
  adapter_->close(model);
}

TEST_P(AdapterTest, OpensAndClosesAgainAndAgain) {
  adapter_->close(nullptr);
  for (int i = 0; i < 3; ++i) {
    Model model(adapter_, manifest_.model, i == 1 ? kLayers : kModel);
    ASSERT_EQ(model.status(), XSP_OK) << adapter_.take_why();
    ASSERT_EQ(model.set(model.make_inputs(1)), XSP_OK) << adapter_.take_why();
    EXPECT_EQ(model.run(), XSP_OK) << adapter_.take_why();
  }
  EXPECT_EQ(adapter_.scratch().files(), std::vector<std::string>{});
}

// Each gives the results that it gives alone.
TEST_P(AdapterTest, ModelsRunAtTheSameTimeIfItSaysSo) {
  if (!XSP_HAS(xsp_adapter, adapter_.entry(), opens_several) || adapter_->opens_several == 0) {
    GTEST_SKIP() << "its models run one after the other";
  }
  constexpr int kRuns = 50;
  Model models[] = {{adapter_, manifest_.model, kModel}, {adapter_, manifest_.model, kModel}};
  std::vector<OwnTensor> alone[2];
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(models[i].status(), XSP_OK) << adapter_.take_why();
    ASSERT_EQ(models[i].set(models[i].make_inputs(i + 1)), XSP_OK) << adapter_.take_why();
    ASSERT_EQ(models[i].run(), XSP_OK) << adapter_.take_why();
    alone[i] = models[i].results();
  }
  const auto run = [&](size_t i) {
    for (int k = 0; k < kRuns; ++k) {
      ASSERT_EQ(models[i].run(), XSP_OK);
      ASSERT_EQ(models[i].results(), alone[i]);
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST_P(AdapterTest, RefusesWhatIsNoModel) {
  ASSERT_FALSE(manifest_.not_a_model.empty());
  std::vector<std::string> paths = manifest_.not_a_model;
  paths.push_back((trace_.path() / "absent").string());
  paths.push_back(trace_.path().string());  // a folder
  for (const std::string& path : paths) {
    Model model(adapter_, path, kModel);
    EXPECT_EQ(model.status(), XSP_BAD_MODEL) << path;
    EXPECT_EQ(model.get(), nullptr) << path;
    expect_why();
    Model recorded(adapter_, path, kLayers);
    EXPECT_EQ(recorded.status(), XSP_BAD_MODEL) << path;
    expect_why();
  }
  EXPECT_EQ(adapter_.scratch().files(), std::vector<std::string>{});
}

TEST_P(AdapterTest, RefusesDevicesAndOptionsThatItDoesNotHave) {
  for (const std::string& device : {manifest_.no_device, std::string("toaster"), std::string("")}) {
    const xsp_open_options options = options_of(manifest_.model, device, kModel);
    xsp_model* model = nullptr;
    EXPECT_EQ(adapter_->open(adapter_.host(), &options, &model), XSP_NOT_AVAILABLE) << device;
    EXPECT_EQ(model, nullptr);
    expect_why();
  }
  const xsp_option nonsense{"no_such_option", "1"};
  const std::string device = device_of(adapter_);
  xsp_open_options options = options_of(manifest_.model, device, kModel);
  options.options = &nonsense;
  options.option_count = 1;
  xsp_model* model = nullptr;
  EXPECT_EQ(adapter_->open(adapter_.host(), &options, &model), XSP_FAILED);
  EXPECT_EQ(model, nullptr);
  expect_why();
}

TEST_P(AdapterTest, RefusesInputsThatTheModelDoesNotTake) {
  Model model(adapter_, manifest_.model, kModel);
  ASSERT_EQ(model.status(), XSP_OK) << adapter_.take_why();
  EXPECT_NE(model.run(), XSP_OK) << "a run without inputs";
  expect_why();
  const std::vector<OwnTensor> good = model.make_inputs(1);
  ASSERT_FALSE(good.empty());
  const auto expect_bad = [&](const std::vector<OwnTensor>& inputs, const char* what) {
    EXPECT_EQ(model.set(inputs), XSP_BAD_INPUT) << what;
    expect_why();
  };
  expect_bad({}, "no inputs");
  auto bad = good;
  bad[0].name = "no such input";
  expect_bad(bad, "a wrong name");
  bad = good;
  bad[0].dtype = bad[0].dtype == XSP_FLOAT32 ? XSP_INT32 : XSP_FLOAT32;
  bad[0].data.resize(bad[0].data.size() / dtype_bytes(good[0].dtype) * dtype_bytes(bad[0].dtype));
  expect_bad(bad, "a wrong type");
  bad = good;
  bad[0].dimensions.push_back(1);
  expect_bad(bad, "too many dimensions");
  bad = good;
  bad[0].data.pop_back();
  expect_bad(bad, "too few bytes");
  bad = good;
  bad[0].dimensions[0] = -1;
  expect_bad(bad, "a negative dimension");
  bad = good;
  bad[0].dimensions.back() = int64_t{1} << 62;
  expect_bad(bad, "an impossible shape");
  EXPECT_EQ(model.set(good), XSP_OK) << "good inputs after bad ones: " << adapter_.take_why();
  EXPECT_EQ(model.run(), XSP_OK) << adapter_.take_why();
}

TEST_P(AdapterTest, ResultsAreRepeatableAndAsDescribed) {
  Model model(adapter_, manifest_.model, kModel);
  ASSERT_EQ(model.status(), XSP_OK) << adapter_.take_why();
  ASSERT_EQ(model.set(model.make_inputs(1)), XSP_OK) << adapter_.take_why();
  ASSERT_EQ(model.run(), XSP_OK) << adapter_.take_why();
  const std::vector<OwnTensor> first = model.results();
  ASSERT_EQ(model.run(), XSP_OK);
  EXPECT_EQ(model.results(), first) << "the same inputs give other results";

  const std::vector<OwnTensor> described = model.outputs();
  ASSERT_EQ(first.size(), described.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].name, described[i].name);
    EXPECT_EQ(first[i].dtype, described[i].dtype);
    size_t bytes = dtype_bytes(first[i].dtype);
    for (const int64_t d : first[i].dimensions) bytes *= static_cast<size_t>(d);
    EXPECT_EQ(first[i].data.size(), bytes);
    ASSERT_EQ(first[i].dimensions.size(), described[i].dimensions.size());
    for (size_t d = 0; d < described[i].dimensions.size(); ++d) {
      if (described[i].dimensions[d] < 0) continue;
      EXPECT_EQ(first[i].dimensions[d], described[i].dimensions[d]);
    }
  }
  ASSERT_EQ(model.set(model.make_inputs(2)), XSP_OK);
  ASSERT_EQ(model.run(), XSP_OK);
  EXPECT_NE(model.results(), first) << "the inputs do not matter";
}

TEST_P(AdapterTest, TwoModelsDoNotDisturbEachOther) {
  auto one = std::make_unique<Model>(adapter_, manifest_.model, kModel);
  Model two(adapter_, manifest_.model, kLayers);
  ASSERT_EQ(one->status(), XSP_OK) << adapter_.take_why();
  ASSERT_EQ(two.status(), XSP_OK) << adapter_.take_why();
  ASSERT_EQ(one->set(one->make_inputs(1)), XSP_OK);
  ASSERT_EQ(two.set(two.make_inputs(2)), XSP_OK);
  ASSERT_EQ(one->run(), XSP_OK);
  const auto expected = one->results();
  ASSERT_EQ(two.run(), XSP_OK);
  EXPECT_EQ(one->results(), expected);
  EXPECT_NE(two.results(), expected);
  one.reset();
  EXPECT_EQ(two.run(), XSP_OK) << adapter_.take_why();
  EXPECT_EQ(adapter_->flush(two.get()), XSP_OK) << adapter_.take_why();
}

TEST_P(AdapterTest, LayersLieInTheirModelAndAreDescribed) {
  constexpr size_t kIterations = 3;
  const TraceFile file = record(kLayers, kIterations);
  ASSERT_EQ(file.models.size(), kIterations);
  // On a GPU a framework may fuse layers that a processor executes one by one.
  const bool is_fused = device_of(adapter_) != "cpu";
  const size_t layers_min = is_fused ? 1 : manifest_.layers;
  const size_t layers_max =
      is_fused ? manifest_.gpu_layers.value_or(manifest_.layers) : manifest_.layers;
  ASSERT_GE(file.layers.size(), kIterations * layers_min);
  ASSERT_LE(file.layers.size(), kIterations * layers_max);
  EXPECT_EQ(file.lost, 0u);
  std::vector<size_t> in_model(kIterations, 0);
  for (const Span& layer : file.layers) {
    size_t holders = 0;
    for (size_t i = 0; i < kIterations; ++i) {
      Span wide = file.models[i];
      wide.start_ns -= kJitterNs;
      wide.end_ns += kJitterNs;
      if (wide.holds(layer)) ++in_model[i], ++holders;
    }
    EXPECT_GE(holders, 1u) << layer.site.name << " lies in no inference";
    EXPECT_FALSE(layer.site.type.empty()) << layer.site.name;
    std::set<std::string> keys;
    for (const auto& [key, value] : layer.site.attributes) {
      keys.insert(key);
      if (key.find("shapes") != std::string::npos || key.find("dtypes") != std::string::npos) {
        EXPECT_EQ(value.front(), '[') << key;
        EXPECT_EQ(value.back(), ']') << key;
      }
    }
    for (const char* key : {"input_shapes", "output_shapes", "input_dtypes", "output_dtypes"}) {
      EXPECT_EQ(keys.count(key), 1u) << layer.site.name << " lacks " << key;
    }
    for (const auto& [key, value] : layer.site.counters) EXPECT_GE(value, 0) << key;
  }
  for (const size_t count : in_model) EXPECT_GE(count, layers_min);
  EXPECT_EQ(adapter_.scratch().files(), std::vector<std::string>{});
}

TEST_P(AdapterTest, WithoutItsLevelThereIsNoLayer) {
  const TraceFile file = record(kModel, 2);
  EXPECT_EQ(file.models.size(), 2u);
  EXPECT_EQ(file.layers.size(), 0u);
  EXPECT_EQ(file.others, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, AdapterTest, testing::ValuesIn(built_adapters()),
                         [](const auto& instance) {
                           std::string name = instance.param.stem().string();
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace xsp::contract
