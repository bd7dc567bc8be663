// Tests xsp diff --run --outputs: two models whose difference is known, in ONNX Runtime.
#include "formats/onnx/builder.h"
#include "formats/onnx/writer.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

constexpr int64_t kFloat16 = 10;
constexpr int64_t kFeatures = 64;

class DiffOutputsTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    if (run({"doctor"}).out.find("onnxruntime.so") == std::string::npos) {
      GTEST_SKIP() << "ONNX Runtime is not installed";
    }
  }

  // Writes y = h3(relu(h2(relu(h1(x))))). `changed` is the weight whose first number is another;
  // -1: none. With `is_half`, the products are of 16-bit floats.
  void write_model(const std::string& name, int changed, bool is_half) const {
    formats::Builder b("net");
    formats::Value x =
        b.input("x", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(kFeatures)});
    x.channels = kFeatures;
    const auto cast = [&](const std::string& node, const formats::Value& value, int64_t type) {
      return is_half
                 ? b.node(node, "Cast", {value}, {formats::attribute("to", type)}, value.channels)
                 : value;
    };
    for (const char* layer : {"h1", "h2", "h3"}) {
      const std::string at = layer;
      const formats::Value weight =
          b.weight(at + "/weight", {kFeatures, kFeatures}, formats::with_variance(2. / kFeatures));
      x = b.node(at + "/MatMul", "MatMul",
                 {cast(at + "/cast_x", x, kFloat16), cast(at + "/cast_w", weight, kFloat16)}, {},
                 kFeatures);
      x = cast(at + "/cast_y", x, formats::kFloat32);
      if (at != "h3") x = b.relu(at + "/relu", x);
    }
    b.output(x, "y", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(kFeatures)});
    const auto weights = [&](size_t index, uint64_t offset, std::span<uint8_t> out) {
      const formats::Graph& graph = b.graph();
      auto* numbers = reinterpret_cast<float*>(out.data());
      formats::fill_weights(b.distributions()[index],
                            formats::tensor_seed(1, graph.initializers[index].name),
                            offset / sizeof(float), out.size() / sizeof(float), numbers);
      if (static_cast<int>(index) == changed && offset == 0) numbers[0] += 1;
    };
    ASSERT_TRUE(formats::write_graph(b.graph(), weights, folder / name, {}).ok());
  }

  nlohmann::json compare(const std::vector<std::string>& more, int status = 0) const {
    std::vector<std::string> arguments = {"diff", "--run", "--outputs", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, status) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
};

TEST_F(DiffOutputsTest, AModelDoesNotDifferFromItself) {
  write_model("a.onnx", -1, false);
  const auto told = compare({"a.onnx", "a.onnx", "--tolerance", "0", "--batch", "3"});
  ASSERT_EQ(told["outputs"].size(), 1u) << told;
  EXPECT_EQ(told["outputs"][0]["elements"], 4 * 3 * kFeatures);
  EXPECT_EQ(told["outputs"][0]["max_absolute"], 0);
  EXPECT_EQ(told["outputs"][0]["equal_best_pct"], 100);
  EXPECT_EQ(told["layers"].size(), 5u);
  EXPECT_TRUE(told["first_layer"].is_null());
}

TEST_F(DiffOutputsTest, TheLayerWhoseWeightDiffersIsTheFirst) {
  write_model("a.onnx", -1, false);
  write_model("b.onnx", 1, false);
  const auto told = compare({"a.onnx", "b.onnx", "--tolerance", "0.001"}, 3);
  EXPECT_EQ(told["first_layer"], "h2/MatMul") << told;
  for (const auto& layer : told["layers"]) {
    const bool is_before = layer["layer"].get<std::string>().rfind("h1", 0) == 0;
    EXPECT_EQ(layer["rms_relative"].get<double>() == 0, is_before) << layer;
  }
  EXPECT_GT(told["outputs"][0]["rms_relative"], 0.001);
  EXPECT_LT(told["outputs"][0]["cosine"], 1);
}

// A number rounded to 16 bits is off by at most 2^-11 of itself: 2^-11 / sqrt(3) or less in the
// root of the mean square, about 2.8e-4.
TEST_F(DiffOutputsTest, HalfPrecisionDiffersByItsRounding) {
  write_model("a.onnx", -1, false);
  write_model("b.onnx", -1, true);
  const auto told = compare({"a.onnx", "b.onnx", "--tolerance", "0.01"});
  EXPECT_TRUE(told["first_layer"].is_null()) << told;
  const double rms = told["outputs"][0]["rms_relative"];
  EXPECT_GT(rms, 1e-4);
  EXPECT_LT(rms, 2e-3);
  EXPECT_EQ(told["layers"][0]["type_b"], "float16") << told;
  const auto fine = compare({"a.onnx", "b.onnx", "--tolerance", "0.0001"}, 3);
  EXPECT_EQ(fine["first_layer"], "h1/MatMul") << fine;
}

// The inputs are what A's steps make of the files, and a file whose answers differ is named.
TEST_F(DiffOutputsTest, TheInputsAreMadeOfADataSet) {
  write_model("a.onnx", -1, false);
  write_model("b.onnx", 0, false);
  for (const auto& [name, model] : std::vector<std::pair<std::string, std::string>>{
           {"a.yaml", "a.onnx"}, {"b.yaml", "b.onnx"}}) {
    write_file(
        name,
        "name: net\nversion: 1.0.0\ntask: classification\n"
        "framework: {name: onnxruntime}\nmodel: {path: " +
            model +
            "}\n"
            "inputs:\n  - name: x\n    dtype: float32\n    dimensions: [N, 64]\n"
            "    from: bytes\n    steps:\n      - byte_window: {begin: 64}\n"
            "      - cast: {to: float32}\noutputs:\n  - name: y\n    steps: [top: {count: 2}]\n");
  }
  // The changed weight is that of the first byte.
  std::string list;
  for (int i = 0; i < 5; ++i) {
    const std::string item = "item" + std::to_string(i);
    write_file(item, static_cast<char>(i == 3 ? 120 : 10 + i) + std::string(63, 1));
    list += item + "\tlabel\n";
  }
  write_file("list.tsv", list);
  const auto same = compare({"a.yaml", "a.yaml", "--data", "list.tsv", "--tolerance", "0"});
  ASSERT_EQ(same["outputs"].size(), 1u) << same;
  EXPECT_EQ(same["outputs"][0]["elements"], 5 * kFeatures);
  EXPECT_TRUE(same["outputs"][0]["worst"].is_null());
  for (const char* batch : {"1", "2"}) {
    const auto told = compare({"a.yaml", "b.yaml", "--data", "list.tsv", "--batch", batch});
    EXPECT_EQ(told["first_layer"], "h1/MatMul") << told;
    EXPECT_EQ(told["outputs"][0]["elements"], 5 * kFeatures);
    const std::string worst = told["outputs"][0]["worst"];
    EXPECT_EQ(worst.substr(worst.rfind('/') + 1), batch[0] == '1' ? "item3" : "item2");
  }
  // B needs no manifest, and a bad item is named.
  compare({"a.yaml", "b.onnx", "--data", "list.tsv"});
  const Finished refused =
      run({"diff", "--run", "--outputs", "b.onnx", "a.yaml", "--data", "list.tsv"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("error: b.onnx: it has no manifest"), std::string::npos)
      << refused.err;
  write_file("list.tsv", "absent\tlabel\n");
  const Finished absent =
      run({"diff", "--run", "--outputs", "a.yaml", "a.yaml", "--data", "list.tsv"});
  EXPECT_NE(absent.err.find("absent"), std::string::npos) << absent.err;
  EXPECT_EQ(error_lines(absent), 1) << absent.err;
}

TEST_F(DiffOutputsTest, AnotherFrameworkIsComparedByItsOutputs) {
  write_model("a.onnx", -1, false);
  const auto told =
      compare({"a.onnx", "fake:layers=1", "--framework-b", "fake", "--input", "x=1x8"}, 2);
  EXPECT_TRUE(told.is_discarded());
  const auto same =
      compare({"fake:layers=2,us=5", "fake:layers=2,us=9", "--framework", "fake", "--sets", "2"});
  EXPECT_EQ(same["outputs"][0]["max_absolute"], 0) << same;
  EXPECT_NE(same["text"].get<std::string>().find("both models must be ONNX files"),
            std::string::npos);
}

TEST_F(DiffOutputsTest, OutputsThatAModelDoesNotDescribeAreCounted) {
  if (run({"doctor"}).out.find("libtorch_cpu.so") == std::string::npos) {
    GTEST_SKIP() << "PyTorch is not installed";
  }
  const std::string model = places::source("tests/data/torch/tiny.pt");
  const Finished finished = run({"diff", "--run", "--outputs", model, model, "--format", "json"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_EQ(rows["outputs"].size(), 1u) << finished.out;
  EXPECT_EQ(rows["outputs"][0]["tensor"], "output 0");
  EXPECT_EQ(rows["outputs"][0]["max_absolute"], 0);
}

}  // namespace
}  // namespace xsp::integration
