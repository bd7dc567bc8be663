#include "formats/onnx/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "formats/onnx/builder.h"
#include "formats/onnx/reader.h"

namespace xsp::formats {
namespace {

namespace fs = std::filesystem;

// The test has a folder of its own, which is removed at the end.
class Writer : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "xsp_writer_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = (folder_ / "model.onnx").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
  std::string path_;
};

Builder small_model() {
  Builder b("small");
  const Value x = b.input("x", kFloat32, {symbolic("batch"), fixed(3), fixed(8), fixed(8)});
  Value y = b.relu6("act", b.batch_norm("bn", b.conv("conv", x, 700, {3, 2, 1, 1, true})));
  y = b.reshape("reshape", y, {0, -1, 16}, 0);
  b.buffer("table", {2, 2}, {1, 2, 3, 4});
  b.default_dimension("batch", 4);
  b.output(y, "y", kFloat32, {symbolic("batch"), fixed(700), fixed(16)});
  return b;
}

void fill_with_index(size_t index, uint64_t offset, std::span<uint8_t> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(index + offset / 16 + i);
}

TEST_F(Writer, WhatWasWrittenIsRead) {
  const Builder b = small_model();
  ASSERT_TRUE(write_graph(b.graph(), fill_with_index, path_, {}).ok());
  EXPECT_EQ(fs::file_size(path_), written_bytes(b.graph()));
  const Result<Graph> read = read_graph(path_);
  ASSERT_TRUE(read.ok()) << read.error().text;
  const Graph& graph = b.graph();
  ASSERT_EQ(read->nodes.size(), graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(read->nodes[i].name, graph.nodes[i].name);
    EXPECT_EQ(read->nodes[i].op_type, graph.nodes[i].op_type);
    EXPECT_EQ(read->nodes[i].inputs, graph.nodes[i].inputs);
    EXPECT_EQ(read->nodes[i].outputs, graph.nodes[i].outputs);
    ASSERT_EQ(read->nodes[i].attributes.size(), graph.nodes[i].attributes.size());
    for (size_t k = 0; k < graph.nodes[i].attributes.size(); ++k) {
      EXPECT_EQ(read->nodes[i].attributes[k].ints, graph.nodes[i].attributes[k].ints);
      EXPECT_EQ(read->nodes[i].attributes[k].i, graph.nodes[i].attributes[k].i);
      EXPECT_EQ(read->nodes[i].attributes[k].f, graph.nodes[i].attributes[k].f);
      EXPECT_EQ(read->nodes[i].attributes[k].kind, graph.nodes[i].attributes[k].kind);
    }
  }
  ASSERT_EQ(read->initializers.size(), graph.initializers.size());
  EXPECT_EQ(read->initializers[0].dimensions, (std::vector<int64_t>{700, 3, 3, 3}));
  EXPECT_EQ(read->initializer("table")->integers, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(read->metadata.at("default_dimension:batch"), "4");
  EXPECT_EQ(read->outputs[0].dimensions[1].value, 700);
  EXPECT_EQ(read->inputs[0].dimensions[0].symbol, "batch");
}

TEST_F(Writer, AsksForLargeWeightsPieceByPiece) {
  Builder b("large");
  b.weight("w", {3, 1 << 20}, {0, 1});
  uint64_t next = 0;
  size_t pieces = 0;
  const WeightSource source = [&](size_t index, uint64_t offset, std::span<uint8_t> out) {
    EXPECT_EQ(index, 0u);
    EXPECT_EQ(offset, next);
    next += out.size();
    ++pieces;
  };
  ASSERT_TRUE(write_graph(b.graph(), source, path_, {}).ok());
  EXPECT_EQ(next, uint64_t{12} << 20);
  EXPECT_GT(pieces, 1u);
}

TEST_F(Writer, KeepsAnExistingFileUnlessToldOtherwise) {
  std::ofstream(path_) << "precious";
  const Builder b = small_model();
  const Status refused = write_graph(b.graph(), fill_with_index, path_, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("File exists: give another path"), std::string::npos);
  EXPECT_EQ(fs::file_size(path_), 8u);
  WriteOptions options;
  options.replace = true;
  EXPECT_TRUE(write_graph(b.graph(), fill_with_index, path_, options).ok());
  EXPECT_TRUE(read_graph(path_).ok());
  EXPECT_EQ(files(), 1u);
}

TEST_F(Writer, AFolderThatIsNotThereIsOneLine) {
  const std::string path = (folder_ / "nowhere" / "model.onnx").string();
  const Status status = write_graph(small_model().graph(), fill_with_index, path, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kFailed);
  EXPECT_EQ(status.error().text, path +
                                     ": cannot be written: No such file or directory: give "
                                     "another path with -o");
  WriteOptions replace;
  replace.replace = true;
  EXPECT_FALSE(write_graph(small_model().graph(), fill_with_index, folder_, replace).ok());
  EXPECT_EQ(files(), 0u);
}

TEST_F(Writer, LeavesNothingWhenTheDiskEnds) {
  const auto write_with_limit = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = write_graph(small_model().graph(), fill_with_index, path_, {});
    std::fprintf(stderr, "%s", status.ok() ? "ok" : status.error().text.c_str());
    std::exit(status.ok() ? 0 : 1);
  };
  EXPECT_EXIT(write_with_limit(), testing::ExitedWithCode(1), "cannot be written: File too large");
  EXPECT_EQ(files(), 0u);
}

TEST_F(Writer, StopsWhenAskedTo) {
  WriteOptions options;
  options.progress = [](uint64_t done, uint64_t total) {
    EXPECT_LE(done, total);
    return false;
  };
  const Status status = write_graph(small_model().graph(), fill_with_index, path_, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kInterrupted);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace xsp::formats
