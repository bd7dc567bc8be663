#include "formats/caffe/writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/onnx/builder.h"
#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

// A network of everything that Caffe can express.
void small_network(Builder& b) {
  Value x = b.input("input", kFloat32, {symbolic("batch"), fixed(3), fixed(10), fixed(10)});
  x = b.relu6("relu6", b.batch_norm("bn", b.conv("conv", x, 4, {3, 1, 1})));
  const Value y = b.max_pool("pool", x, {3, 2, 1});
  x = b.concat("concat", {y, b.relu("relu", b.add("add", y, y))});
  x = b.gemm("fc", b.flatten("flatten", b.global_average_pool("average", x)), 5);
  b.output(x, "output", kFloat32, {symbolic("batch"), fixed(5)});
}

Graph graph_of(void (*build)(Builder&)) {
  Builder builder("net");
  build(builder);
  return builder.graph();
}

std::string refusal(void (*build)(Builder&)) {
  const auto model = to_caffe(graph_of(build));
  EXPECT_FALSE(model.ok());
  return model.ok() ? "" : model.error().text;
}

TEST(CaffeWriter, SaysTheNetworkInCaffesWords) {
  const auto model = to_caffe(graph_of(small_network));
  ASSERT_TRUE(model.ok()) << model.error().text;
  for (const char* part :
       {"shape { dim: 1 dim: 3 dim: 10 dim: 10 }",
        "convolution_param { num_output: 4 bias_term: false kernel_size: 3 stride: 1 pad: 1 }",
        "name: \"bn/scale\"\n  type: \"Scale\"\n  bottom: \"bn/normalised\"\n  top: \"bn/out\"",
        "eps: 1e-05", "type: \"ReLU6\"",
        // The pooling floors, because (10 + 2 - 3) / 2 is no whole number.
        "pool: MAX kernel_size: 3 stride: 2 pad: 1 ceil_mode: false", "operation: SUM",
        "type: \"Concat\"\n  bottom: \"pool/out\"\n  bottom: \"relu/out\"",
        "pool: AVE global_pooling: true", "num_output: 5"}) {
    EXPECT_NE(model->prototxt.find(part), std::string::npos) << part << "\n" << model->prototxt;
  }
}

// Returns the number of floats in each blob of each layer, as stated in the file.
std::vector<std::pair<std::string, std::vector<uint64_t>>> blobs_of(const std::string& bytes) {
  std::vector<std::pair<std::string, std::vector<uint64_t>>> layers;
  wire::Source source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  std::string problem;
  wire::Field layer, field, part;
  for (wire::Cursor net(&source, &problem, 0, source.size()); net.next(&layer);) {
    if (layer.number != 100) continue;
    auto& [name, counts] = layers.emplace_back();
    for (wire::Cursor in(&source, &problem, layer.begin, layer.end); in.next(&field);) {
      if (field.number == 1) name = bytes.substr(field.begin, field.size());
      if (field.number != 7) continue;
      for (wire::Cursor blob(&source, &problem, field.begin, field.end); blob.next(&part);) {
        if (part.number == 5) counts.push_back(part.size() / sizeof(float));
      }
    }
  }
  EXPECT_EQ(problem, "");
  return layers;
}

TEST(CaffeWriter, WritesBothFilesWithEveryWeight) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("xsp-caffe-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const Graph graph = graph_of(small_network);
  const WeightSource ones = [](size_t, uint64_t, std::span<uint8_t> out) {
    std::fill(out.begin(), out.end(), uint8_t{1});
  };
  WriteOptions options;
  const Status status = write_caffe(graph, ones, folder / "net.prototxt", options);
  ASSERT_TRUE(status.ok()) << status.error().text;
  EXPECT_TRUE(std::filesystem::exists(folder / "net.prototxt"));
  std::ifstream file(folder / "net.caffemodel", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> expected = {
      {"conv", {4 * 3 * 3 * 3}}, {"bn", {4, 4, 1}}, {"bn/scale", {4, 4}}, {"fc", {5 * 8, 5}}};
  EXPECT_EQ(blobs_of(bytes), expected);
  EXPECT_FALSE(write_caffe(graph, ones, folder / "net.caffemodel", options).ok()) << "they exist";
  std::filesystem::remove_all(folder);
}

TEST(CaffeWriter, RefusesWhatCaffeLacks) {
  const std::string uneven = refusal([](Builder& b) {
    const Value x = b.input("input", kFloat32, {fixed(1), fixed(3), fixed(8), fixed(8)});
    b.output(b.conv("conv", x, 4, same_window(8, 3, 2)), "output", kFloat32, {});
  });
  EXPECT_NE(uneven.find("'conv'"), std::string::npos) << uneven;
  EXPECT_NE(uneven.find("pads"), std::string::npos) << uneven;
  const std::string unknown = refusal([](Builder& b) {
    const Value x = b.input("input", kFloat32, {fixed(1), fixed(3)});
    b.output(b.layer_norm("norm", x, 1e-5), "output", kFloat32, {});
  });
  EXPECT_NE(unknown.find("LayerNormalization"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace xsp::formats
