#include "adapters/onnxruntime/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/onnxruntime/layers.h"

namespace xsp::ort {
namespace {

using Event = ProfileReader::Event;

class ProfileTest : public testing::Test {
 protected:
  ProfileTest()
      : path_(std::filesystem::temp_directory_path() /
              ("xsp-profile-" + std::to_string(getpid()))) {}
  ~ProfileTest() override { std::filesystem::remove(path_); }

  std::vector<Event> events(const std::string& text) {
    std::ofstream(path_) << text;
    ProfileReader reader(path_);
    EXPECT_TRUE(reader.is_open());
    std::vector<Event> all;
    for (NodeEvent node; all.empty() || all.back() != Event::kEnd;)
      all.push_back(reader.next(&node));
    return all;
  }

  std::filesystem::path path_;
};

constexpr const char* kNode =
    R"({"cat" : "Node","pid" :7,"tid" :8,"dur" :11,"ts" :5,"ph" : "X","name" :"conv_kernel_time",)"
    R"("args" : {"thread_scheduling_stats" : {"main_thread": {"x": [1]}},"op_name" : "Conv",)"
    R"("provider" : "CPUExecutionProvider","node_index" : "3","parameter_size" : "896",)"
    R"("activation_size" : "3072","output_size" : "8192","mem_requested_in_use_delta" : "-5",)"
    R"("input_type_shape" : [{"float":[1,3,16,16]},{"int64":[]}],)"
    R"("output_type_shape" : [{"float16":[1,8,16,16]}]}})";

TEST_F(ProfileTest, ANodeIsReadWhole) {
  std::ofstream(path_) << "[\n" << kNode << ",\n]\n";
  ProfileReader reader(path_);
  NodeEvent node;
  ASSERT_EQ(reader.next(&node), Event::kNode);
  EXPECT_EQ(node.name, "conv");
  EXPECT_EQ(node.op_type, "Conv");
  EXPECT_EQ(node.provider, "CPUExecutionProvider");
  EXPECT_EQ(node.node_index, "3");
  EXPECT_EQ(node.thread, 8u);
  EXPECT_EQ(node.start_us, 5);
  EXPECT_EQ(node.duration_us, 11);
  EXPECT_EQ(node.parameter_bytes, 896);
  EXPECT_EQ(node.activation_bytes, 3072);
  EXPECT_EQ(node.output_bytes, 8192);
  EXPECT_EQ(node.allocated_bytes, -5);
  EXPECT_EQ(parse_values(node.input_shapes),
            (std::vector<Value>{{"float32", {1, 3, 16, 16}}, {"int64", {}}}));
  EXPECT_EQ(parse_values(node.output_shapes), (std::vector<Value>{{"float16", {1, 8, 16, 16}}}));
  EXPECT_EQ(reader.next(&node), Event::kEnd);
}

TEST_F(ProfileTest, KindsOfEvents) {
  const std::string run = R"({"cat" : "Session","tid" :8,"dur" :3,"ts" :1,"name" :"model_run"})";
  const std::string load = R"({"cat" : "Session","tid" :8,"dur" :3,"ts" :1,"name" :"load"})";
  const std::string fence =
      R"({"cat" : "Node","tid" :8,"dur" :3,"ts" :1,"name" :"conv_fence_before","args" : {}})";
  EXPECT_EQ(
      events("[\n" + load + ",\n" + fence + ",\n" + kNode + ",\n" + run + "\n]\n"),
      (std::vector<Event>{Event::kOther, Event::kOther, Event::kNode, Event::kRun, Event::kEnd}));
}

TEST_F(ProfileTest, ForeignLinesAreToldAndSkipped) {
  const std::string whole = kNode;
  for (size_t cut = 1; cut < whole.size(); cut += 7) {
    const auto all = events("[\n" + whole.substr(0, cut) + "\n" + whole + "\n]\n");
    ASSERT_EQ(all.size(), 3u) << cut;
    EXPECT_NE(all[0], Event::kRun) << cut;
    EXPECT_EQ(all[1], Event::kNode) << cut;
  }
  std::string negative = whole;
  negative.replace(negative.find("\"dur\" :11"), 9, "\"dur\" :-1");
  EXPECT_EQ(events(negative + "\n17\n\"x\"\n"),
            (std::vector<Event>{Event::kUnreadable, Event::kUnreadable, Event::kUnreadable,
                                Event::kEnd}));
}

TEST_F(ProfileTest, NamesInOtherBytesThanUtf8AreKeptLegible) {
  std::string line = kNode;
  line.replace(line.find("conv_kernel"), 4, "co\xff\xc1");
  std::ofstream(path_) << line << "\n";
  ProfileReader reader(path_);
  NodeEvent node;
  ASSERT_EQ(reader.next(&node), Event::kNode);
  EXPECT_EQ(node.name, "co??");
}

GraphNode node_of(const std::vector<std::pair<bool, Value>>& inputs) {
  GraphNode node;
  for (const auto& [is_weight, value] : inputs) node.inputs.push_back({is_weight, value, 0});
  return node;
}

TEST(OnnxRuntimeLayers, WeightsThatTheProfileForgotComeBack) {
  const Value x{"float32", {1, 8}};
  const Value w{"float32", {8, 10}};
  const Value b{"float32", {10}};
  const GraphNode gemm = node_of({{false, {}}, {true, w}, {true, b}});
  const std::vector<Value> all = {x, w, b};
  EXPECT_EQ(complete_inputs({x, w, b}, gemm), all);
  EXPECT_EQ(complete_inputs({x, b}, gemm), all);
  EXPECT_EQ(complete_inputs({x, w}, gemm), all);
  EXPECT_EQ(complete_inputs({x}, gemm), all);
  // A graph that does not match changes nothing.
  EXPECT_EQ(complete_inputs({}, gemm), std::vector<Value>{});
  EXPECT_EQ(complete_inputs({x, x}, gemm), (std::vector<Value>{x, x}));
  EXPECT_EQ(complete_inputs({x, w, b, b}, gemm), (std::vector<Value>{x, w, b, b}));
  // A weight comes before the computed value, and has the same shape.
  const GraphNode product = node_of({{true, x}, {false, {}}});
  EXPECT_EQ(complete_inputs({x}, product), (std::vector<Value>{x, x}));
}

TEST(OnnxRuntimeLayers, MalformedShapesAreNoShapes) {
  for (const char* bad : {"", "{", "[1]", "[{\"float\":1}]", "[{\"float\":[\"a\"]}]", "{}"}) {
    EXPECT_TRUE(parse_values(bad).empty()) << bad;
  }
}

}  // namespace
}  // namespace xsp::ort
