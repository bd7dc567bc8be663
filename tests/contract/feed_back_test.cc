// Tests that an adapter gives outputs back as inputs of the next run, with the same results as if
// its caller copied them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "adapter.h"
#include "manifest.h"
#include "tests/generating_model.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

constexpr const char* kIds = "input_ids";

class FeedBackAdapterTest : public testing::TestWithParam<const char*> {
 protected:
  FeedBackAdapterTest() : adapter_(adapter_path(GetParam())) {}

  void SetUp() override {
    if (adapter_.entry() == nullptr) GTEST_SKIP() << GetParam() << " is not built";
    xsp_probe probe{};
    probe.struct_size = sizeof probe;
    if (adapter_->probe(adapter_.host(), &probe) != XSP_OK) GTEST_SKIP() << adapter_.take_why();
    std::filesystem::path path = source_folder() / "tests/data/torch/generating.pt";
    if (std::string(GetParam()) == "onnxruntime") {
      path = scratch_.path() / "generating.onnx";
      ASSERT_EQ(write_generating_model(path), "");
    }
    model_ = std::make_unique<Model>(adapter_, path, XSP_LEVEL_BIT(XSP_LEVEL_MODEL));
    ASSERT_EQ(model_->status(), XSP_OK) << adapter_.take_why();
    const std::vector<OwnTensor> inputs = model_->inputs();
    const std::vector<OwnTensor> outputs = model_->outputs();
    const auto place_of = [&](const std::string& name) {
      const auto is_it = [&](const OwnTensor& one) { return one.name == name; };
      return std::find_if(outputs.begin(), outputs.end(), is_it) - outputs.begin();
    };
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].name == kIds) continue;
      const std::string output = "present" + inputs[i].name.substr(std::strlen("past_key_values"));
      pairs_.push_back({static_cast<uint32_t>(place_of(output)), i});
    }
    logits_ = static_cast<size_t>(place_of("logits"));
    ASSERT_EQ(pairs_.size(), 2u);
    ASSERT_LT(logits_, outputs.size());
  }

  xsp_status feed_back() {
    return adapter_->feed_back(model_->get(), pairs_.data(), pairs_.size());
  }

  // Sets the tokens, with an empty cache if `is_first`.
  xsp_status set(const std::vector<int64_t>& ids, bool is_first) {
    const auto* bytes = reinterpret_cast<const std::byte*>(ids.data());
    std::vector<OwnTensor> tensors = {{kIds,
                                       XSP_INT64,
                                       {1, static_cast<int64_t>(ids.size())},
                                       {bytes, bytes + ids.size() * sizeof(int64_t)}}};
    for (const char* name : {"past_key_values.0.key", "past_key_values.0.value"}) {
      if (is_first) tensors.push_back({name, XSP_FLOAT32, {1, 1, 0, kGeneratingSize}, {}});
    }
    return model_->set(tensors);
  }

  // Returns the difference of the last floats of `whole` from those of `part`.
  static double difference(const OwnTensor& part, const OwnTensor& whole) {
    if (part.data.empty() || part.data.size() > whole.data.size()) return INFINITY;
    const std::byte* end = whole.data.data() + whole.data.size() - part.data.size();
    double most = 0;
    for (size_t at = 0; at < part.data.size(); at += sizeof(float)) {
      float one = 0, other = 0;
      std::memcpy(&one, part.data.data() + at, sizeof one);
      std::memcpy(&other, end + at, sizeof other);
      most = std::max(most, std::abs(static_cast<double>(one) - static_cast<double>(other)));
    }
    return most;
  }

  Adapter adapter_;
  Scratch scratch_;
  std::unique_ptr<Model> model_;
  std::vector<xsp_fed_back> pairs_;
  size_t logits_ = 0;
};

TEST_P(FeedBackAdapterTest, TheCacheIsThatOfAllTokensAtOnce) {
  ASSERT_EQ(set({5, 9, 7, 12}, true), XSP_OK) << adapter_.take_why();
  ASSERT_EQ(model_->run(), XSP_OK) << adapter_.take_why();
  const std::vector<OwnTensor> whole = model_->results();
  // A second round begins with an empty cache again.
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(feed_back(), XSP_OK) << adapter_.take_why();
    ASSERT_EQ(set({5, 9}, true), XSP_OK) << adapter_.take_why();
    ASSERT_EQ(model_->run(), XSP_OK) << adapter_.take_why();
    const std::vector<OwnTensor> first = model_->results();
    EXPECT_FALSE(first[logits_].data.empty());
    const OwnTensor& cache = first[pairs_[0].output];
    EXPECT_EQ(cache.dimensions, (std::vector<int64_t>{1, 1, 2, kGeneratingSize}));
    EXPECT_TRUE(cache.data.empty()) << "it stays where the model is";
    for (const int64_t token : {7, 12}) {
      ASSERT_EQ(set({token}, false), XSP_OK) << adapter_.take_why();
      ASSERT_EQ(model_->run(), XSP_OK) << adapter_.take_why();
    }
    ASSERT_EQ(adapter_->feed_back(model_->get(), nullptr, 0), XSP_OK) << adapter_.take_why();
    const std::vector<OwnTensor> last = model_->results();
    ASSERT_EQ(last.size(), whole.size());
    for (const xsp_fed_back& pair : pairs_) {
      EXPECT_EQ(last[pair.output].dimensions, whole[pair.output].dimensions);
      EXPECT_LT(difference(last[pair.output], whole[pair.output]), 1e-6);
    }
    // The logits are those of the last run's token alone.
    EXPECT_LT(difference(last[logits_], whole[logits_]), 1e-2);
  }
}

TEST_P(FeedBackAdapterTest, BeforeTheFirstRunEachInputMustBeGiven) {
  ASSERT_EQ(feed_back(), XSP_OK) << adapter_.take_why();
  EXPECT_EQ(set({5}, false), XSP_BAD_INPUT);
  EXPECT_NE(adapter_.take_why().find("it is missing"), std::string::npos);
  ASSERT_EQ(set({5}, true), XSP_OK) << adapter_.take_why();
  EXPECT_EQ(set({9}, false), XSP_BAD_INPUT);
}

INSTANTIATE_TEST_SUITE_P(All, FeedBackAdapterTest, testing::Values("onnxruntime", "torch"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace xsp::contract
