// Tests the adapter `mxnet`, beyond the requirements on every adapter: fused layers, facts,
// options, errors.
#include <gtest/gtest.h>

#include "one_adapter.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

class MxnetTest : public OneAdapter {
 protected:
  MxnetTest() : OneAdapter("mxnet", "mxnet") {}
};

TEST_F(MxnetTest, FusedLayersAreTiedToTheModelsOwn) {
  const TraceFile file = traced("tiny-symbol.json", {"--batch", "2"});
  ASSERT_EQ(file.models.size(), 2u);
  EXPECT_EQ(file.lost, 0u);
  EXPECT_EQ(counter(file.models[0].site, "layer_resolution_ns"), 1000);
  ASSERT_EQ(file.layers.size(), 8u);
  const trace::Site& conv = file.layers[0].site;
  EXPECT_EQ(conv.type, "_sg_mkldnn_conv");
  EXPECT_EQ(attribute(conv, "source_layers"), "[\"conv1\",\"bn1\",\"relu1\"]");
  EXPECT_EQ(attribute(conv, "input_shapes"), "[[2,3,16,16],[8,3,3,3],[8],[8],[8],[8]]");
  EXPECT_EQ(attribute(conv, "output_shapes"), "[[2,8,16,16]]");
  EXPECT_EQ(counter(conv, "activation_bytes"), 2 * 3 * 16 * 16 * 4);
  EXPECT_EQ(counter(conv, "parameter_bytes"), (8 * 3 * 3 * 3 + 4 * 8) * 4);
  EXPECT_EQ(counter(conv, "output_bytes"), 2 * 8 * 16 * 16 * 4);
}

TEST_F(MxnetTest, WithoutFusionTheModelsOwnLayersRun) {
  const TraceFile file = traced("tiny-0000.params", {"--option", "subgraph=NONE"});
  const std::vector<std::string> once = {"conv1", "bn1", "relu1", "pool", "fc", "prob"};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(names(file), twice);
}

TEST_F(MxnetTest, OptionsAreTakenAndChecked) {
  EXPECT_EQ(traced("no_shape-symbol.json", {"--option", "inputs=data:1,3,8,8"}).layers.size(), 8u);
  const std::string params = "params=" + data("tiny-0000.params");
  EXPECT_EQ(traced("no_params-symbol.json", {"--option", params, "--threads", "2"}).layers.size(),
            8u);
  for (const char* bad : {"inputs=data", "colour=red"}) {
    EXPECT_EQ(failure("tiny-symbol.json", {"--option", bad}).substr(0, 9), "failed 1 ") << bad;
  }
  const std::string why = failure("unknown_operator-symbol.json");
  EXPECT_NE(why.find("Operator Abacus is not registered"), std::string::npos) << why;
  EXPECT_EQ(why.find(".cc:"), std::string::npos) << why;
}

TEST_F(MxnetTest, AnAbsentLibraryIsSaidToBeAbsent) {
  setenv("XSP_MXNET", "/no/such/libmxnet.so", 1);
  WorkerProcess worker({"--adapter", adapter_path("mxnet"), "--probe"});
  unsetenv("XSP_MXNET");
  const Fields reply = worker.reply();
  ASSERT_EQ(reply.size(), 3u);
  EXPECT_EQ(reply[0] + " " + reply[1], "failed 4");
  EXPECT_NE(reply[2].find("xsp doctor --install mxnet"), std::string::npos) << reply[2];
}

}  // namespace
}  // namespace xsp::contract
