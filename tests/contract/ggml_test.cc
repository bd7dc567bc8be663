// Tests the adapter `ggml`, beyond the requirements on every adapter: prefill and decoding, nodes,
// errors.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

#include "manifest.h"
#include "one_adapter.h"
#include "process/worker/npy.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

class GgmlTest : public OneAdapter {
 protected:
  GgmlTest() : OneAdapter("ggml", "ggml", {"--threads", "1"}) {}

  // Returns the scores after the last of these tokens, after this many runs.
  std::vector<float> scores(const std::vector<int32_t>& tokens, int runs, Fields more = {}) {
    Scratch folder;
    const auto file = folder.path() / "tokens.npy";
    const int64_t shape[] = {1, static_cast<int64_t>(tokens.size())};
    EXPECT_TRUE(process::write_npy(file, {sizeof(xsp_tensor), "tokens", XSP_INT32, 2, shape,
                                          tokens.data(), tokens.size() * sizeof(int32_t)})
                    .ok());
    more.insert(more.end(), {"--input", "tokens=@" + file.string()});
    WorkerProcess worker(arguments("tiny.gguf", std::move(more), "model"));
    EXPECT_EQ(worker.reply()[0], "ready");
    worker.send("run\t" + std::to_string(runs));
    EXPECT_EQ(worker.reply()[0], "ran");
    worker.send("save\t" + folder.path().string());
    const Fields saved = worker.reply();
    if (saved.size() < 3) return {};
    const auto array = process::read_npy(folder.path() / saved[2]);
    EXPECT_TRUE(array.ok());
    if (!array.ok()) return {};
    std::vector<float> values(array->data.size() / sizeof(float));
    std::memcpy(values.data(), array->data.data(), array->data.size());
    return values;
  }
};

TEST_F(GgmlTest, NodesAreLayersWithTheirShapesAndNoNameIsTwice) {
  const TraceFile file = traced("tiny.gguf", {"--input", "tokens=2x8"});
  EXPECT_EQ(file.lost, 0u);
  ASSERT_EQ(file.layers.size(), 2u * 44);
  std::set<std::string> names;
  const trace::Site* product = nullptr;
  for (size_t i = 0; i < 44; ++i) {
    const trace::Site& site = file.layers[i].site;
    EXPECT_TRUE(names.insert(site.name).second) << site.name;
    EXPECT_EQ(site.name, file.layers[44 + i].site.name);
    if (site.name == "result_output") product = &site;
  }
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->type, "MUL_MAT");
  // Only the last token of each sequence is computed.
  EXPECT_EQ(attribute(*product, "input_shapes"), "[[128,32],[2,32]]");
  EXPECT_EQ(attribute(*product, "output_shapes"), "[[2,128]]");
  EXPECT_EQ(counter(*product, "parameter_bytes"), 128 * 32 * 4);
  EXPECT_EQ(counter(*product, "activation_bytes"), 2 * 32 * 4);
}

TEST_F(GgmlTest, AStepOfDecodingIsAPrefillsLastToken) {
  // The tokens before a step are 0, 1, 2, ...
  const std::vector<float> whole = scores({0, 1, 2, 3, 4, 5, 77}, 1);
  ASSERT_EQ(whole.size(), 128u);
  for (const int runs : {1, 3}) {
    const std::vector<float> step = scores({77}, runs, {"--option", "context=6"});
    ASSERT_EQ(step.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(step[i], whole[i], 1e-2) << i;
  }
  const std::vector<float> other = scores({77}, 1);
  EXPECT_GT(std::abs(other[0] - whole[0]) + std::abs(other[1] - whole[1]), 1e-2);
}

// Generates as a load does: the adapter holds the cache.
TEST_F(GgmlTest, KeptTokensGiveTheScoresOfThePrefillOfAll) {
  void* const library = dlopen(adapter_path("ggml").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto* adapter = static_cast<const xsp_adapter*>(dlsym(library, XSP_ADAPTER_SYMBOL));
  xsp_host host{};
  host.struct_size = sizeof host;
  host.fail = [](void*, const char* text) { std::fprintf(stderr, "%s\n", text); };
  host.note = [](void*, const char*) {};
  const std::string path = data("tiny.gguf");
  xsp_open_options options{};
  options.struct_size = sizeof options;
  options.path = path.c_str();
  options.device = "cpu";
  options.levels = XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
  options.threads = 1;
  xsp_model* model = nullptr;
  ASSERT_EQ(adapter->open(&host, &options, &model), XSP_OK);
  const auto set = [&](const std::vector<int32_t>& tokens) {
    const int64_t shape[] = {1, static_cast<int64_t>(tokens.size())};
    const xsp_tensor tensor{sizeof(xsp_tensor),
                            "tokens",
                            XSP_INT32,
                            2,
                            shape,
                            tokens.data(),
                            tokens.size() * sizeof(int32_t)};
    return adapter->set_inputs(model, &tensor, 1);
  };
  const std::vector<float> whole = scores({5, 9, 3, 77, 12}, 1);
  ASSERT_EQ(whole.size(), 128u);
  // The second round forgets the first one.
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(adapter->keep_tokens(model, 1, 8), XSP_OK);
    for (const std::vector<int32_t>& tokens :
         std::vector<std::vector<int32_t>>{{5, 9, 3}, {77}, {12}}) {
      ASSERT_EQ(set(tokens), XSP_OK);
      for (int i = 0; i < 2; ++i) ASSERT_EQ(adapter->run(model), XSP_OK);
    }
    const xsp_tensor* result = nullptr;
    size_t count = 0;
    ASSERT_EQ(adapter->results(model, &result, &count), XSP_OK);
    const auto* values = static_cast<const float*>(result->data);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(values[i], whole[i], 1e-2) << i;
    // Two blocks keep a key and a value of 32 16-bit floats of each token, and some bookkeeping.
    EXPECT_GE(adapter->kept_bytes(model), 5u * 2 * 2 * 32 * 2);
    EXPECT_LE(adapter->kept_bytes(model), 5u * 2 * 2 * 32 * 2 + 1000);
  }
  EXPECT_NE(set(std::vector<int32_t>(9, 1)), XSP_OK) << "more than there is room for";
  adapter->close(model);
}

TEST_F(GgmlTest, ErrorsSayWhatIsWrong) {
  EXPECT_NE(failure("unknown_architecture.gguf").find("unknown model architecture: 'abacus'"),
            std::string::npos);
  EXPECT_EQ(failure("tiny.gguf", {"--option", "context=many"}).substr(0, 9), "failed 1 ");
  EXPECT_EQ(failure("tiny.gguf", {"--option", "colour=red"}).substr(0, 9), "failed 1 ");
}

}  // namespace
}  // namespace xsp::contract
