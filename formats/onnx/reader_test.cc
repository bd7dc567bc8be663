#include "formats/onnx/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "formats/onnx/fields.h"
#include "formats/wire/wire.h"

namespace xsp::formats {
namespace {

using wire::put_bytes;
using wire::put_float;
using wire::put_integer;

std::string message(const std::function<void(std::string*)>& write) {
  std::string out;
  write(&out);
  return out;
}

std::string dimension(int64_t value) {
  return message([&](std::string* out) { put_integer(out, fields::dimension::kValue, value); });
}

std::string symbol(const std::string& name) {
  return message([&](std::string* out) { put_bytes(out, fields::dimension::kParam, name); });
}

std::string value_info(const std::string& name, const std::vector<std::string>& dimensions) {
  std::string shape;
  for (const std::string& d : dimensions) put_bytes(&shape, fields::shape::kDim, d);
  std::string tensor;
  put_integer(&tensor, fields::tensor_type::kElemType, kFloat32);
  put_bytes(&tensor, fields::tensor_type::kShape, shape);
  std::string type;
  put_bytes(&type, fields::type::kTensor, tensor);
  std::string out;
  put_bytes(&out, fields::value_info::kName, name);
  put_bytes(&out, fields::value_info::kType, type);
  return out;
}

std::string tensor(const std::string& name, int32_t dtype, const std::vector<int64_t>& dimensions,
                   const std::string& raw) {
  std::string out;
  for (const int64_t d : dimensions) put_integer(&out, fields::tensor::kDims, d);
  put_integer(&out, fields::tensor::kDataType, dtype);
  put_bytes(&out, fields::tensor::kName, name);
  put_bytes(&out, fields::tensor::kRawData, raw);
  return out;
}

std::string relu_node() {
  std::string attribute;
  put_bytes(&attribute, fields::attribute::kName, "pads");
  put_integer(&attribute, fields::attribute::kInts, 1);
  put_integer(&attribute, fields::attribute::kInts, -2);
  put_integer(&attribute, fields::attribute::kType, static_cast<int64_t>(AttributeKind::kInts));
  std::string out;
  put_bytes(&out, fields::node::kInput, "x");
  put_bytes(&out, fields::node::kInput, "weight");
  put_bytes(&out, fields::node::kOutput, "y");
  put_bytes(&out, fields::node::kName, "layer1/conv");
  put_bytes(&out, fields::node::kOpType, "Conv");
  put_bytes(&out, fields::node::kAttribute, attribute);
  return out;
}

std::string model_of(const std::string& graph) {
  std::string opset;
  put_bytes(&opset, fields::opset::kDomain, "");
  put_integer(&opset, fields::opset::kVersion, 17);
  std::string out;
  put_integer(&out, fields::model::kIrVersion, 8);
  put_bytes(&out, fields::model::kProducerName, "test");
  put_bytes(&out, fields::model::kGraph, graph);
  put_bytes(&out, fields::model::kOpsetImport, opset);
  return out;
}

std::string small_graph() {
  std::string out;
  put_bytes(&out, fields::graph::kNode, relu_node());
  put_bytes(&out, fields::graph::kName, "small");
  put_bytes(&out, fields::graph::kInitializer,
            tensor("weight", kFloat32, {2, 1}, std::string("\0\0\x80\x3f\0\0\0\xc0", 8)));
  put_bytes(&out, fields::graph::kInput, value_info("x", {symbol("batch"), dimension(3)}));
  put_bytes(&out, fields::graph::kInput, value_info("weight", {dimension(2), dimension(1)}));
  put_bytes(&out, fields::graph::kOutput, value_info("y", {symbol("batch"), dimension(-7)}));
  return out;
}

Result<Graph> read_text(const std::string& text) {
  return read_graph({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "m.onnx");
}

std::string error_of(const std::string& text) {
  const Result<Graph> graph = read_text(text);
  if (graph.ok()) return "";
  EXPECT_EQ(graph.error().code, Code::kCorrupt);
  EXPECT_EQ(graph.error().text.find('\n'), std::string::npos);
  EXPECT_EQ(graph.error().text.rfind("m.onnx: ", 0), 0u) << graph.error().text;
  return graph.error().text;
}

// Creates a file in the temporary folder, which the destructor removes.
class ReaderFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "xsp_reader_" + std::to_string(::getpid()) + ".onnx";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::string path_;
};

TEST(Reader, ReadsHeaderNodesTensorsAndSignature) {
  const Result<Graph> read = read_text(model_of(small_graph()));
  ASSERT_TRUE(read.ok()) << read.error().text;
  const Graph& graph = *read;
  EXPECT_EQ(graph.ir_version, 8);
  EXPECT_EQ(graph.opsets.at(""), 17);
  EXPECT_EQ(graph.producer_name, "test");
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& node = graph.nodes[0];
  EXPECT_EQ(node.name, "layer1/conv");
  EXPECT_EQ(node.op_type, "Conv");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", "weight"}));
  EXPECT_EQ(node.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(node.integers("pads"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(node.integer("group", 1), 1);
  ASSERT_EQ(graph.initializers.size(), 1u);
  EXPECT_EQ(graph.initializers[0].dimensions, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(graph.initializers[0].bytes, 8u);
  EXPECT_EQ(graph.initializers[0].floats, (std::vector<float>{1.0f, -2.0f}));
  ASSERT_EQ(graph.required_inputs().size(), 1u);
  EXPECT_EQ(graph.required_inputs()[0].name, "x");
  ASSERT_EQ(graph.inputs[0].dimensions.size(), 2u);
  EXPECT_EQ(graph.inputs[0].dimensions[0].value, -1);
  EXPECT_EQ(graph.inputs[0].dimensions[0].symbol, "batch");
  EXPECT_EQ(graph.inputs[0].dimensions[1].value, 3);
  EXPECT_EQ(graph.outputs[0].dimensions[1].value, -1) << "any negative size is an unknown one";
}

// Some exporters name every dimension that they do not know "?".
TEST(Reader, AQuestionMarkIsNoSymbol) {
  std::string graph = small_graph();
  put_bytes(&graph, fields::graph::kInput,
            value_info("z", {symbol("?"), symbol("?"), symbol("a?")}));
  const Result<Graph> read = read_text(model_of(graph));
  ASSERT_TRUE(read.ok()) << read.error().text;
  const std::vector<Dimension>& dimensions = read->inputs.back().dimensions;
  ASSERT_EQ(dimensions.size(), 3u);
  EXPECT_EQ(dimensions[0].value, -1);
  EXPECT_EQ(dimensions[0].symbol, "");
  EXPECT_EQ(dimensions[1].symbol, "");
  EXPECT_EQ(dimensions[2].symbol, "a?");
}

TEST_F(ReaderFile, SkipsLargeWeightsAndReadsWhatFollowsThem) {
  std::string graph = small_graph();
  const std::string weights(300000, 'w');
  put_bytes(&graph, fields::graph::kInitializer, tensor("big", kInt8, {300000}, weights));
  put_bytes(&graph, fields::graph::kNode, relu_node());
  write(model_of(graph));
  const Result<Graph> read = read_graph(path_);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read->initializer("big")->bytes, 300000u);
  EXPECT_TRUE(read->initializer("big")->integers.empty());
  EXPECT_EQ(read->nodes.size(), 2u);
  EXPECT_GT(read->file_bytes, 300000u);
}

TEST(Reader, NotesExternalData) {
  std::string entry;
  put_bytes(&entry, fields::entry::kKey, "location");
  put_bytes(&entry, fields::entry::kValue, "weights.bin");
  std::string weight;
  put_integer(&weight, fields::tensor::kDims, int64_t{1} << 33);
  put_integer(&weight, fields::tensor::kDataType, kFloat32);
  put_bytes(&weight, fields::tensor::kExternalData, entry);
  put_integer(&weight, fields::tensor::kDataLocation, 1);
  std::string graph = small_graph();
  put_bytes(&graph, fields::graph::kInitializer, weight);
  const Result<Graph> read = read_text(model_of(graph));
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read->initializers[1].external_location, "weights.bin");
  EXPECT_EQ(read->initializers[1].bytes, uint64_t{1} << 35);
}

TEST(Reader, EveryTruncationIsOneLine) {
  const std::string whole = model_of(small_graph());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  }
}

TEST(Reader, EveryFlippedBitIsReadOrRefused) {
  const std::string whole = model_of(small_graph());
  size_t refused = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    if (!error_of(damaged).empty()) ++refused;
  }
  EXPECT_GT(refused, whole.size());  // most flips outside of names break the structure
}

TEST(Reader, SaysWhatAForeignFileIs) {
  EXPECT_NE(error_of("").find("empty"), std::string::npos);
  EXPECT_NE(error_of("<!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(error_of("version https://git-lfs.github.com/spec/v1\n").find("git lfs pull"),
            std::string::npos);
  EXPECT_NE(error_of(std::string("PK\x03\x04", 4) + "rest").find("zip"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, '\0')).find("not a sound ONNX model"), std::string::npos);
}

TEST(Reader, RefusesAbsurdSizes) {
  std::string graph = small_graph();
  put_bytes(&graph, fields::graph::kInitializer,
            tensor("huge", kFloat32, {int64_t{1} << 40, int64_t{1} << 40}, "abcd"));
  EXPECT_NE(error_of(model_of(graph)).find("impossibly many"), std::string::npos);

  graph = small_graph();
  put_bytes(&graph, fields::graph::kInitializer, tensor("odd", kFloat32, {3}, "abcd"));
  EXPECT_NE(error_of(model_of(graph)).find("holds 4 bytes"), std::string::npos);

  graph = small_graph();
  put_bytes(&graph, fields::graph::kName, std::string(kMaxTextBytes + 1, 'n'));
  EXPECT_NE(error_of(model_of(graph)).find("bytes long"), std::string::npos);

  std::string long_graph;
  wire::put_header(&long_graph, fields::model::kGraph, UINT64_MAX / 2);
  EXPECT_NE(error_of(long_graph).find("claims"), std::string::npos);
}

TEST(Reader, RefusesGraphsNestedWithoutEnd) {
  std::string graph = small_graph();
  for (int depth = 0; depth < kMaxGraphDepth + 1; ++depth) {
    std::string attribute;
    put_bytes(&attribute, fields::attribute::kGraph, graph);
    std::string node;
    put_bytes(&node, fields::node::kOpType, "If");
    put_bytes(&node, fields::node::kAttribute, attribute);
    graph.clear();
    put_bytes(&graph, fields::graph::kNode, node);
  }
  EXPECT_NE(error_of(model_of(graph)).find("nested"), std::string::npos);
}

TEST(Reader, MemoryIsBoundedWhateverTheFileClaims) {
  // Every empty input of a node takes two bytes in the file: far more memory than file.
  std::string node;
  put_bytes(&node, fields::node::kOpType, "Sum");
  for (uint64_t i = 0; i < kMaxGraphBytes / sizeof(std::string) + 1; ++i) {
    put_bytes(&node, fields::node::kInput, "");
  }
  std::string graph;
  put_bytes(&graph, fields::graph::kNode, node);
  EXPECT_NE(error_of(model_of(graph)).find("takes more than"), std::string::npos);
}

TEST_F(ReaderFile, FailuresOfTheFileSystemAreOneLine) {
  Result<Graph> read = read_graph(path_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kFailed);
  EXPECT_NE(read.error().text.find("No such file"), std::string::npos);
  read = read_graph(testing::TempDir());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kFailed);
  EXPECT_NE(read.error().text.find("folder"), std::string::npos);
}

TEST_F(ReaderFile, AFifoIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Result<Graph> read = read_graph(path_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().text.find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace xsp::formats
