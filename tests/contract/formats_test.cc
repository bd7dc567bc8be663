// Tests that the zoo's models compute the same in every format in which they are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "manifest.h"
#include "process/worker/npy.h"
#include "worker_process.h"
#include "zoo/shared/zoo.h"

namespace xsp::contract {
namespace {

// Relative to the largest result; float32 in another order of summation.
constexpr float kTolerance = 1e-5f;

struct Case {
  std::string format;
  std::string adapter;
  size_t batch = 2;
};

bool can_run(const std::string& adapter) {
  if (!std::filesystem::exists(adapter_path(adapter))) return false;
  WorkerProcess probe({"--adapter", adapter_path(adapter), "--probe"});
  const Fields reply = probe.reply();
  return !reply.empty() && reply[0] == "probe";
}

// Returns the results of a model, for the inputs that the worker makes.
std::vector<float> results(const std::string& adapter, const std::string& model, size_t batch) {
  Scratch folder;
  WorkerProcess worker({"--adapter", adapter_path(adapter), "--model", model, "--levels", "model",
                        "--batch", std::to_string(batch)});
  EXPECT_EQ(worker.reply()[0], "ready");
  worker.send("run\t1");
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

class Formats : public testing::TestWithParam<Case> {};

TEST_P(Formats, ComputeWhatTheOnnxFileDoes) {
  for (const std::string& adapter : {std::string("onnxruntime"), GetParam().adapter}) {
    if (!can_run(adapter)) GTEST_SKIP() << "skipped: " << adapter << " is not here";
  }
  Scratch folder;
  const std::string stem = folder.path() / "net";
  std::string own;
  for (const zoo::ModelFormat& format : zoo::model_formats()) {
    if (format.name != GetParam().format && format.name != std::string("onnx")) continue;
    formats::WriteOptions options;
    options.batch = static_cast<int64_t>(GetParam().batch);
    const Status status =
        zoo::build_model("mobilenet_v2", stem + format.ending, 1, options, format);
    ASSERT_TRUE(status.ok()) << status.error().text;
    if (format.name == GetParam().format) own = stem + format.ending;
  }
  const std::vector<float> expected = results("onnxruntime", stem + ".onnx", GetParam().batch);
  const std::vector<float> found = results(GetParam().adapter, own, GetParam().batch);
  ASSERT_EQ(expected.size(), GetParam().batch * 1000);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kTolerance * largest) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats,
                         testing::Values(Case{"caffe", "opencv_dnn"}, Case{"mxnet", "mxnet"},
                                         Case{"tensorflow", "tensorflow"},
                                         Case{"stablehlo", "pjrt", 1}, Case{"stablehlo", "pjrt"}),
                         [](const auto& instance) {
                           return instance.param.format + "_" +
                                  std::to_string(instance.param.batch);
                         });

}  // namespace
}  // namespace xsp::contract
