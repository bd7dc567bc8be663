// Tests the adapter `tensorflow`, beyond the requirements on every adapter: facts, SavedModels,
// options, errors.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>

#include "one_adapter.h"
#include "processor.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

class TensorFlowTest : public OneAdapter {
 protected:
  TensorFlowTest() : OneAdapter("tensorflow", "tensorflow") {}

  std::map<std::string, trace::Site> sites(const TraceFile& file) {
    std::map<std::string, trace::Site> all;
    for (const Span& layer : file.layers) all[layer.site.name] = layer.site;
    return all;
  }
};

TEST_F(TensorFlowTest, SavedModelsAreOpenedByFolderAndByFile) {
  for (const char* name : {"tiny.saved", "tiny.saved/saved_model.pb"}) {
    const TraceFile file = traced(name, {"--batch", "3"});
    EXPECT_EQ(file.models.size(), 2u) << name;
    bool has_product = false;
    for (const Span& layer : file.layers) {
      if (layer.site.type.find("MatMul") == std::string::npos) continue;
      has_product = true;
      EXPECT_EQ(attribute(layer.site, "output_shapes"), "[[3,5]]");
      EXPECT_EQ(counter(layer.site, "parameter_bytes"), 4 * 5 * 4);
    }
    EXPECT_TRUE(has_product) << name;
  }
  const TraceFile other = traced("tiny.saved", {"--option", "signature=double"});
  for (const Span& layer : other.layers)
    EXPECT_EQ(layer.site.type.find("MatMul"), std::string::npos);
}

TEST_F(TensorFlowTest, EveryNodeAndTheFullTraceMayBeAskedFor) {
  EXPECT_GT(traced("tiny.pb", {"--option", "every_node=1"}).layers.size(), 2 * 10u);
  EXPECT_EQ(traced("tiny.pb", {"--option", "trace=full"}).layers.size(), 2 * 4u);
  EXPECT_EQ(traced("tiny.pb", {"--threads", "2", "--option", "inter_op_threads=1"}).layers.size(),
            2 * 4u);
}

TEST_F(TensorFlowTest, FailuresSayWhatIsWrong) {
  const auto expect = [](const std::string& found, const std::string& status,
                         const std::string& part) {
    EXPECT_EQ(found.rfind("failed " + status, 0), 0u) << found;
    EXPECT_NE(found.find(part), std::string::npos) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  };
  expect(failure("unknown_operator.pb"), "2", "Hardmax");
  expect(failure("strings.pb"), "2", "not a tensor of numbers");
  expect(failure("tiny.pb", {"--option", "outputs=nothing"}), "2", "no tensor 'nothing'");
  expect(failure("tiny.saved", {"--option", "signature=absent"}), "2", "double, serving_default");
  expect(failure("tiny.saved", {"--option", "tags=gpu"}), "2", "tags 'gpu'");
  expect(failure("tiny.pb", {"--option", "trace=loud"}), "1", "trace=software|full");
}

TEST_F(TensorFlowTest, AnAbsentLibraryIsSaidToBeAbsent) {
  setenv("XSP_TENSORFLOW", "/no/such/folder", 1);
  WorkerProcess worker({"--adapter", adapter_path("tensorflow"), "--probe"});
  unsetenv("XSP_TENSORFLOW");
  const Fields reply = worker.reply();
  ASSERT_EQ(reply.size(), 3u);
  EXPECT_EQ(reply[0] + " " + reply[1], "failed 4");
  EXPECT_NE(reply[2].find("xsp doctor --install tensorflow"), std::string::npos) << reply[2];
}

// If oneDNN supports the processor, TensorFlow calls it by operators of other names.
class TensorFlowProcessorTest : public TensorFlowTest,
                                public testing::WithParamInterface<Processor> {
 protected:
  void SetUp() override {
    on_.emplace(GetParam());
    TensorFlowTest::SetUp();
  }

  // Returns "_FusedConv2D" for "_MklNativeFusedConv2D", and "MatMul" for "_MklMatMul".
  static std::string plain_type(const std::string& type) {
    static const std::regex kNames("_Mkl(Native)?(Fused(?!Batch))?(.*)");
    std::smatch parts;
    if (!std::regex_match(type, parts, kNames)) return type;
    return (parts[2].matched ? "_Fused" : "") + parts[3].str();
  }

 private:
  std::optional<OnProcessor> on_;
};

TEST_P(TensorFlowProcessorTest, FusedLayersAreTiedToTheModelsOwn) {
  const TraceFile file = traced("tiny.pb", {"--batch", "2"});
  ASSERT_EQ(file.models.size(), 2u);
  EXPECT_EQ(attribute(file.models[0].site, "folded_layers"), "[]");
  EXPECT_EQ(attribute(file.models[0].site, "removed_layers"), "[]");
  auto all = sites(file);
  const trace::Site& conv = all["relu1"];
  EXPECT_EQ(plain_type(conv.type), "_FusedConv2D");
  EXPECT_EQ(attribute(conv, "source_layers"), "[\"conv1\",\"bn1\",\"relu1\"]");
  EXPECT_EQ(attribute(conv, "output_shapes"), "[[2,8,8,8]]");
  EXPECT_EQ(counter(conv, "activation_bytes"), 2 * 8 * 8 * 3 * 4);
  EXPECT_EQ(counter(conv, "parameter_bytes"), (3 * 3 * 3 * 8 + 4 * 8) * 4);
  EXPECT_EQ(counter(conv, "output_bytes"), 2 * 8 * 8 * 8 * 4);
  EXPECT_GE(counter(conv, "allocated_bytes"), 2 * 8 * 8 * 8 * 4);
  EXPECT_EQ(attribute(all["fc_bias"], "source_layers"), "[\"fc\",\"fc_bias\"]");
}

TEST_P(TensorFlowProcessorTest, WithoutOptimisationTheModelsOwnLayersRun) {
  const TraceFile file = traced("tiny.pb", {"--option", "graph_optimization=none"});
  std::vector<std::string> types;
  for (const Span& layer : file.layers) types.push_back(plain_type(layer.site.type));
  const std::vector<std::string> once = {"Conv2D", "FusedBatchNormV3", "Relu",   "Mean",
                                         "MatMul", "BiasAdd",          "Softmax"};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(types, twice);
}

TEST_P(TensorFlowProcessorTest, PartsOfAGraphAreRunByName) {
  const TraceFile file = traced("tiny.pb", {"--option", "outputs=conv1"});
  ASSERT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(plain_type(file.layers[0].site.type), "Conv2D");
  EXPECT_EQ(attribute(file.models[0].site, "removed_layers"),
            "[\"bn1\",\"relu1\",\"pool\",\"fc\",\"fc_bias\",\"probabilities\"]");
}

// The library obeys the limits that these tests set.
TEST_F(TensorFlowTest, TypesTellWhoseKernelsRan) {
  for (const Processor& processor : onednn_limits()) {
    if (processor.environment.empty()) continue;  // there the processor decides
    const OnProcessor on(processor);
    const bool is_off = processor.environment[0] == "TF_ENABLE_ONEDNN_OPTS=0";
    EXPECT_EQ(sites(traced("tiny.pb"))["relu1"].type,
              is_off ? "_FusedConv2D" : "_MklNativeFusedConv2D")
        << processor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, TensorFlowProcessorTest, testing::ValuesIn(onednn_limits()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace xsp::contract
