#include "process/load/generation_server.h"

#include <gtest/gtest.h>

#include <fstream>

#include "process/load/made_up_server.h"
#include "shared/base/scratch.h"

namespace xsp::process {
namespace {

// A language model that remembers what it was run with.
class Decoder : public OpenModel {
 public:
  struct Run {
    int64_t batch, tokens, past, request;
    bool operator==(const Run&) const = default;
  };

  Status set(const std::vector<Tensor>& inputs) override {
    for (const Tensor& tensor : inputs) {
      if (tensor.name == "input_ids") tokens_ = tensor.dimensions[1];
      if (tensor.name == "past_key_values.0.key") past_ = tensor.dimensions[2];
    }
    return Ok{};
  }
  Status run(size_t batch, int64_t request) override {
    runs_.push_back({static_cast<int64_t>(batch), tokens_, past_, request});
    return Ok{};
  }
  Result<std::vector<Tensor>> results() override {
    const int64_t batch = runs_.back().batch;
    return std::vector<Tensor>{floats("logits", {batch, tokens_, 5}),
                               floats("present.0.key", {batch, 1, past_ + tokens_, 2})};
  }
  std::vector<Run> runs_;

 private:
  static Tensor floats(const char* name, const std::vector<int64_t>& dimensions) {
    size_t count = sizeof(float);
    for (const int64_t one : dimensions) count *= static_cast<size_t>(one);
    return {name, XSP_FLOAT32, dimensions, std::vector<std::byte>(count), ""};
  }
  int64_t tokens_ = 0, past_ = 0;
};

// PyTorch compiles a module while it makes the first tokens of an answer, which takes a thousand
// times as long as a token. No answer may have that in its time.
TEST(GenerationServer, WarmsUpTheTokensAfterThePromptToo) {
  auto scratch = ScratchFolder::create();
  ASSERT_TRUE(scratch.ok());
  const std::string lengths = (*scratch)->path() / "lengths",
                    tokens = (*scratch)->path() / "tokens";
  std::ofstream(lengths) << "6\t3\n";
  const std::vector<TensorSpec> inputs = {
      {"input_ids", XSP_INT64, {-1, -1}, {}},
      {"past_key_values.0.key", XSP_FLOAT32, {-1, 1, -1, 2}, {}}};
  const std::vector<TensorSpec> outputs = {{"logits", XSP_FLOAT32, {-1, -1, 5}, {}},
                                           {"present.0.key", XSP_FLOAT32, {-1, 1, -1, 2}, {}}};
  Decoder model;
  const auto server = GenerationServer::make(model, inputs, outputs, lengths, tokens);
  ASSERT_TRUE(server.ok()) << server.error().text;
  ASSERT_TRUE(warm_sizes(model, **server, 2).ok());
  std::vector<Decoder::Run> expected;
  for (const int64_t batch : {2, 1}) {
    expected.insert(expected.end(), 3, {batch, 6, 0, -1});  // the prompt
    expected.insert(expected.end(), {{batch, 1, 6, -1}, {batch, 1, 7, -1}});
  }
  EXPECT_EQ(model.runs_, expected);
  ASSERT_TRUE((*server)->close().ok());
  EXPECT_EQ(std::ifstream(tokens).peek(), std::ifstream::traits_type::eof());
}

}  // namespace
}  // namespace xsp::process
