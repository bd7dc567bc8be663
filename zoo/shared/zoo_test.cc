#include "zoo/shared/zoo.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "formats/onnx/builder.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/shapes.h"
#include "tests/places.h"
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

namespace fs = std::filesystem;

class Zoo : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "xsp_zoo_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

formats::Graph graph_of(const Recipe& recipe) {
  formats::Builder b(recipe.name);
  recipe.build(b);
  return b.graph();
}

TEST(ZooList, HasTheModelsAndTheReducedMobileNets) {
  std::vector<std::string> names;
  size_t reduced = 0;
  for (const ModelDescription& model : all_models()) {
    const bool is_reduced = model.name.starts_with("mobilenet_v1_");
    if (is_reduced) ++reduced;
    if (!is_reduced) names.push_back(model.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"bert_base", "densenet121", "gpt2_small", "inception_v3",
                                      "mobilenet_v1", "mobilenet_v2", "resnet101", "resnet152",
                                      "resnet34", "resnet50", "ssd_mobilenet", "vgg16", "vgg19"}));
  EXPECT_EQ(reduced, 15u);  // with the full one, each of four widths at each of four resolutions
}

// Parameters are exact, or within half a unit of the last digit that the literature prints. A
// figure of the arithmetic that contradicts the literature has a note that says why. zoo/README.md
// has each source.
TEST(ZooList, ParametersAndArithmeticAgreeWithTheLiterature) {
  for (const ModelDescription& model : all_models()) {
    const double parameters = static_cast<double>(model.literature_parameters);
    const bool is_exact = model.literature_parameters % 100000 != 0;  // else printed as 6.8 million
    EXPECT_NEAR(static_cast<double>(model.parameters), parameters, is_exact ? 0 : 0.05e6)
        << model.name;
    const double ratio = static_cast<double>(model.macs) / 1e9 / model.literature_gmacs;
    EXPECT_EQ(std::abs(ratio - 1) > 0.015, !model.literature_note.empty())
        << model.name << ": " << ratio;
    EXPECT_GE(model.flops, 2 * model.macs) << model.name;
    EXPECT_LE(model.flops, 2 * model.macs + model.macs / 5) << model.name;
  }
}

std::string difference(double ours, double theirs) {
  char text[32];
  std::snprintf(text, sizeof(text), "%+.2f %%", (ours / theirs - 1) * 100);
  return ours == theirs ? "none" : text;
}

// Returns the rows of the table in zoo/README.md.
std::string literature_table() {
  std::string table =
      "| model | parameters | literature | difference | GMACs | literature | difference | source "
      "|\n"
      "|---|---:|---:|---:|---:|---:|---:|---|\n";
  for (const ModelDescription& model : all_models()) {
    const double gmacs = static_cast<double>(model.macs) / 1e9;
    char numbers[200];
    std::snprintf(numbers, sizeof(numbers), "| `%s` | %lld | %lld | %s | %.4g | %.4g | %s | ",
                  model.name.c_str(), static_cast<long long>(model.parameters),
                  static_cast<long long>(model.literature_parameters),
                  difference(static_cast<double>(model.parameters),
                             static_cast<double>(model.literature_parameters))
                      .c_str(),
                  gmacs, model.literature_gmacs, difference(gmacs, model.literature_gmacs).c_str());
    table += numbers + model.literature;
    table += (model.literature_note.empty() ? "" : "; " + model.literature_note) + " |\n";
  }
  return table;
}

TEST(ZooList, TheReadmeHasTheTable) {
  std::ostringstream readme;
  readme << std::ifstream(places::source("zoo/README.md")).rdbuf();
  EXPECT_NE(readme.str().find(literature_table()), std::string::npos)
      << "put this into zoo/README.md:\n"
      << literature_table();
}

TEST(ZooList, EveryNodeAndTensorHasANameOfItsOwnAndComesBeforeItsUse) {
  for (const Recipe& recipe : all_recipes()) {
    const formats::Graph graph = graph_of(recipe);
    std::set<std::string> nodes;
    std::set<std::string> tensors;
    for (const formats::ValueInfo& input : graph.inputs) tensors.insert(input.name);
    for (const formats::Tensor& tensor : graph.initializers) {
      EXPECT_TRUE(tensors.insert(tensor.name).second) << recipe.name << ": " << tensor.name;
    }
    for (const formats::Node& node : graph.nodes) {
      EXPECT_FALSE(node.name.empty());
      EXPECT_TRUE(nodes.insert(node.name).second) << recipe.name << ": " << node.name;
      for (const std::string& input : node.inputs) {
        EXPECT_EQ(tensors.count(input), 1u) << recipe.name << ": " << node.name << ": " << input;
      }
      for (const std::string& output : node.outputs) {
        EXPECT_TRUE(tensors.insert(output).second) << recipe.name << ": " << output;
      }
    }
    for (const formats::ValueInfo& output : graph.outputs) {
      EXPECT_EQ(tensors.count(output.name), 1u) << recipe.name << ": " << output.name;
    }
  }
}

TEST(ZooList, InferredShapesAreThoseThatTheModelsState) {
  for (const Recipe& recipe : all_recipes()) {
    const formats::Graph graph = graph_of(recipe);
    std::map<std::string, int64_t> symbols = {{"batch", 3}, {"sequence", 9}, {"past_sequence", 4}};
    const Result<formats::KnownValues> values = formats::infer_shapes(graph, symbols);
    ASSERT_TRUE(values.ok()) << recipe.name << ": " << values.error().text;
    symbols["past_sequence + 1"] = 5;
    symbols["selected"] = -1;
    for (const formats::ValueInfo& output : graph.outputs) {
      formats::Shape stated;
      for (const formats::Dimension& dimension : output.dimensions) {
        stated.push_back(dimension.value >= 0 ? dimension.value : symbols.at(dimension.symbol));
      }
      ASSERT_EQ(values->count(output.name), 1u) << recipe.name << ": " << output.name;
      EXPECT_EQ(values->at(output.name).shape, stated) << recipe.name << ": " << output.name;
    }
  }
}

TEST(ZooList, FindsByName) {
  EXPECT_EQ(find_model("resnet"), nullptr);
  ASSERT_NE(find_model("resnet50"), nullptr);
  EXPECT_EQ(find_model("resnet50")->title, "ResNet-50 v1.5");
}

TEST_F(Zoo, WritesWhatItDescribes) {
  const std::string path = (folder_ / "m.onnx").string();
  ASSERT_TRUE(build_model("mobilenet_v2", path, kDefaultSeed, {}).ok());
  const Result<formats::Graph> graph = formats::read_graph(path);
  ASSERT_TRUE(graph.ok()) << graph.error().text;
  const ModelDescription& model = *find_model("mobilenet_v2");
  EXPECT_EQ(graph->file_bytes, model.file_bytes);
  EXPECT_EQ(formats::count_parameters(*graph).learned, model.parameters);
  for (const formats::Tensor& tensor : graph->initializers) {
    for (const float value : tensor.floats) ASSERT_EQ(std::fpclassify(value), FP_NORMAL);
  }
}

uint64_t digest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  std::vector<char> buffer(1 << 16);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(buffer[static_cast<size_t>(i)])) * 0x100000001b3;
    }
  }
  return hash;
}

// Everyone must get the same file: a change of this number must raise kBuilderVersion.
TEST_F(Zoo, TheSameSeedGivesTheSameBytes) {
  const std::string path = (folder_ / "m.onnx").string();
  ASSERT_TRUE(build_model("mobilenet_v2", path, kDefaultSeed, {}).ok());
  EXPECT_EQ(digest(path), 9707447212368361013u);
  const std::string other = (folder_ / "other.onnx").string();
  ASSERT_TRUE(build_model("mobilenet_v2", other, kDefaultSeed + 1, {}).ok());
  EXPECT_NE(digest(other), digest(path));
}

TEST_F(Zoo, RefusesUnknownNamesWithASuggestion) {
  const Status status = build_model("resnet5", (folder_ / "m.onnx").string(), 1, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUsage);
  EXPECT_NE(status.error().text.find("did you mean 'resnet50'"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Several processes that want the same model at once all get it, complete.
TEST_F(Zoo, TheCacheStandsConcurrentBuilders) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Result<std::string> path = cached_model("mobilenet_v2");
      ::_exit(path.ok() && formats::read_graph(*path).ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Result<std::string> path = cached_model("mobilenet_v2");
  ASSERT_TRUE(path.ok()) << path.error().text;
  EXPECT_EQ(fs::path(*path).parent_path(), folder_ / "xsp" / "models");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "xsp" / "models"), {}), 1);

  fs::resize_file(*path, 1000);  // a damaged file is built anew
  ASSERT_TRUE(cached_model("mobilenet_v2").ok());
  EXPECT_EQ(fs::file_size(*path), find_model("mobilenet_v2")->file_bytes);
  EXPECT_EQ(cached_model("mobilenet_v9").error().code, Code::kUsage);
}

TEST_F(Zoo, TheCacheHasAFormatThatAFrameworkOpens) {
  const Result<std::string> path = cached_model_as("mobilenet_v2", {".pb"});
  ASSERT_TRUE(path.ok()) << path.error().text;
  EXPECT_EQ(fs::path(*path).filename(), "mobilenet_v2.pb");
  const auto written = fs::last_write_time(*path);
  EXPECT_EQ(*cached_model_as("mobilenet_v2", {".pb"}), *path);
  EXPECT_EQ(fs::last_write_time(*path), written);
  EXPECT_TRUE(cached_model_as("mobilenet_v2", {".x", ".onnx"})->ends_with(".onnx"));
  EXPECT_EQ(cached_model_as("mobilenet_v2", {".pt"}).error().code, Code::kNotAvailable);
  EXPECT_EQ(*cached_model_as("mobilenet_v2", {".pb"}, 4), *path) << "its batch is not fixed";
}

TEST_F(Zoo, TheCacheHasAFileForEachBatchWhereThatIsFixed) {
  const auto input_of = [](int64_t batch) -> std::string {
    const Result<std::string> path = cached_model_as("mobilenet_v1_0.25_128", {".mlir"}, batch);
    if (!path.ok()) return path.error().text;
    std::ifstream file(*path);
    std::string line;
    while (std::getline(file, line)) {
      if (line.find("@main(") != std::string::npos) break;
    }
    return line;
  };
  EXPECT_NE(input_of(1).find("tensor<1x3x128x128xf32>"), std::string::npos) << input_of(1);
  EXPECT_NE(input_of(4).find("tensor<4x3x128x128xf32>"), std::string::npos) << input_of(4);
}

}  // namespace
}  // namespace xsp::zoo
