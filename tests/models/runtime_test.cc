// Tests every model of the zoo in the real ONNX Runtime: it loads and runs, its results are finite
// and not all the same, its shapes are those that xsp infers, and every executed node is linked to
// the model's own nodes.
#include "runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "formats/onnx/provenance.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/shapes.h"
#include "formats/onnx/weights.h"
#include "zoo/shared/zoo.h"

namespace xsp::formats {
namespace {

namespace fs = std::filesystem;

class RealModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "xsp_runtime_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

constexpr uint64_t kLargeBytes = 200 << 20;
constexpr const char* kLargeToo = "XSP_TEST_LARGE_MODELS";
constexpr int64_t kTokens = 100;  // below any vocabulary

RuntimeTensor make_input(const Graph& graph, const ValueInfo& info, int64_t batch) {
  RuntimeTensor tensor;
  tensor.name = info.name;
  size_t count = 1;
  for (const Dimension& dimension : info.dimensions) {
    int64_t size = dimension.value;
    if (size < 0)
      size = dimension.symbol == "batch" ? batch : default_dimension(graph, dimension.symbol);
    tensor.shape.push_back(size);
    count *= static_cast<size_t>(size);
  }
  std::vector<float> random(count);
  fill_weights({0.5, 0.5}, tensor_seed(1, info.name), 0, count, random.data());
  if (info.dtype == kFloat32) {
    tensor.floats = random;
    return tensor;
  }
  for (const float value : random) {
    const bool is_token = info.name == "input_ids";
    const bool is_mask = info.name == "attention_mask";
    tensor.integers.push_back(is_token ? static_cast<int64_t>(value * (kTokens - 1)) : is_mask);
  }
  return tensor;
}

void expect_sensible(const RuntimeTensor& tensor, const std::string& where) {
  if (tensor.floats.empty()) return;
  double sum = 0;
  double squares = 0;
  for (const float value : tensor.floats) {
    ASSERT_TRUE(std::isfinite(value)) << where;
    sum += value;
    squares += double{value} * value;
  }
  const double count = static_cast<double>(tensor.floats.size());
  const double deviation = std::sqrt(squares / count - (sum / count) * (sum / count));
  EXPECT_GT(deviation, 0.005) << where;
  EXPECT_LT(deviation, 100) << where;
}

bool has_weights(const Node& node) {
  return node.op_type == "Conv" || node.op_type == "Gemm" || node.op_type == "MatMul";
}

void check_provenance(const Graph& model, const Graph& optimised) {
  const Provenance provenance = trace_provenance(model, optimised);
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const OriginalNode& original = provenance.originals[i];
    EXPECT_NE(original.fate, Fate::kRemoved) << original.name;
    if (!has_weights(model.nodes[i])) continue;
    EXPECT_EQ(original.executed_as.size(), 1u) << original.name;
  }
  for (size_t i = 0; i < optimised.nodes.size(); ++i) {
    const Node& node = optimised.nodes[i];
    const bool is_reordering = node.op_type == "ReorderInput" || node.op_type == "ReorderOutput";
    EXPECT_TRUE(is_reordering || !provenance.stands_for[i].empty()) << node.name;
    const auto heavy =
        std::count_if(provenance.stands_for[i].begin(), provenance.stands_for[i].end(),
                      [&](size_t original) { return has_weights(model.nodes[original]); });
    EXPECT_LE(heavy, 1) << node.name;
  }
}

TEST_P(RealModel, RunsAndIsTiedToItsOwnNodes) {
  if (zoo::find_model(GetParam())->file_bytes > kLargeBytes && std::getenv(kLargeToo) == nullptr) {
    GTEST_SKIP() << "writes a gigabyte: set " << kLargeToo << "=1";
  }
  const std::string path = (folder_ / "model.onnx").string();
  const std::string optimised_path = (folder_ / "optimised.onnx").string();
  ASSERT_TRUE(zoo::build_model(GetParam(), path, zoo::kDefaultSeed, {}).ok());
  const Result<Graph> graph = read_graph(path);
  ASSERT_TRUE(graph.ok()) << graph.error().text;
  Result<Session> session = Session::open(path, optimised_path);
  ASSERT_TRUE(session.ok()) << session.error().text;
  const Result<Graph> optimised = read_graph(optimised_path);
  ASSERT_TRUE(optimised.ok()) << optimised.error().text;
  check_provenance(*graph, *optimised);
  fs::remove(optimised_path);

  std::vector<std::string> outputs;
  for (const ValueInfo& output : graph->outputs) outputs.push_back(output.name);
  for (const int64_t batch : {1, 2}) {
    std::vector<RuntimeTensor> inputs;
    for (const ValueInfo& input : graph->inputs) inputs.push_back(make_input(*graph, input, batch));
    const Result<std::vector<RuntimeTensor>> results = session->run(inputs, outputs);
    ASSERT_TRUE(results.ok()) << results.error().text;
    const Result<KnownValues> shapes = infer_shapes(*graph, {{"batch", batch}});
    ASSERT_TRUE(shapes.ok()) << shapes.error().text;
    for (const RuntimeTensor& result : *results) {
      expect_sensible(result, GetParam() + ": " + result.name);
      Shape inferred = shapes->at(result.name).shape;
      for (size_t i = 0; i < inferred.size() && i < result.shape.size(); ++i) {
        if (inferred[i] < 0) inferred[i] = result.shape[i];  // depends on the data
      }
      EXPECT_EQ(inferred, result.shape) << result.name;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const zoo::ModelDescription& model : zoo::all_models()) list.push_back(model.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Zoo, RealModel, testing::ValuesIn(names()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace xsp::formats
