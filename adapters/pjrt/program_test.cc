#include "adapters/pjrt/program.h"

#include <gtest/gtest.h>

#include "adapters/pjrt/profiler.h"
#include "formats/wire/wire.h"

namespace xsp::pjrt {
namespace {

using formats::wire::put_bytes;
using formats::wire::put_integer;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string message(std::initializer_list<std::pair<uint32_t, std::string>> fields) {
  std::string text;
  for (const auto& [number, body] : fields) put_bytes(&text, number, body);
  return text;
}

std::string shape(int type, const std::vector<int64_t>& sizes) {
  std::string text;
  put_integer(&text, 2, type);
  for (const int64_t size : sizes) put_integer(&text, 3, size);
  return text;
}

std::string instruction(const std::string& name, const std::string& opcode, int64_t id,
                        const std::string& location, const std::vector<int64_t>& operands = {},
                        int64_t called = -1) {
  std::string text = message({{1, name}, {2, opcode}, {3, shape(11, {2, 3})}});
  if (!location.empty()) put_bytes(&text, 7, message({{2, location}}));
  put_integer(&text, 35, id);
  for (const int64_t operand : operands) put_integer(&text, 36, operand);
  if (called >= 0) put_integer(&text, 38, called);
  return text;
}

std::string computation(int64_t id, const std::vector<std::string>& instructions) {
  std::string text;
  for (const std::string& one : instructions) put_bytes(&text, 2, one);
  put_integer(&text, 5, id);
  return text;
}

TEST(PjrtProgram, FusionsNameAllThatTheyAreMadeOf) {
  std::string module = message({{1, "tiny"}});
  put_bytes(&module, 3,
            computation(1, {instruction("p", "parameter", 10, "not this"),
                            instruction("a", "add", 11, "conv1", {10}),
                            instruction("b", "tanh", 12, "relu1", {11})}));
  put_bytes(&module, 3,
            computation(
                2, {instruction("x.1", "parameter", 20, "x"), instruction("w", "constant", 21, ""),
                    instruction("fusion.3", "fusion", 22, "relu1", {20, 21}, 1)}));
  put_bytes(&module, 4, message({{1, shape(11, {2, 3})}, {2, shape(11, {2, 3})}}));
  put_integer(&module, 6, 2);
  const Program program = read_program(bytes_of(module));
  EXPECT_EQ(program.parameter_names, std::vector<std::string>{"x"});
  ASSERT_EQ(program.parameters.size(), 1u);
  EXPECT_EQ(program.parameters[0].bytes(), 24);
  const Instruction& fusion = program.instructions.at(program.by_name.at("fusion.3"));
  EXPECT_EQ(fusion.sources, (std::vector<std::string>{"conv1", "relu1"}));
  EXPECT_TRUE(program.instructions.at(21).is_constant);
  for (size_t size = 0; size < module.size(); size += 7) {
    (void)read_program(bytes_of(module.substr(0, size)));  // a truncated program does no harm
  }
}

TEST(PjrtProgram, APrecisionAboveTheDefaultIsSeen) {
  const auto asks = [](uint32_t field, const std::string& body) {
    std::string product = instruction("dot.1", "dot", 10, "fc");
    put_bytes(&product, field, body);
    std::string module = message({{1, "tiny"}});
    put_bytes(&module, 3, computation(1, {product}));
    put_integer(&module, 6, 1);
    return read_program(bytes_of(module)).asks_for_precision;
  };
  EXPECT_FALSE(asks(51, message({{1, std::string("\0\0", 2)}})));
  EXPECT_TRUE(asks(51, message({{1, std::string("\0\2", 2)}})));
  EXPECT_FALSE(asks(43, R"({"operand_precision":["DEFAULT","DEFAULT"]})"));
  EXPECT_TRUE(asks(43, R"({"operand_precision":["HIGHEST","HIGHEST"]})"));
}

TEST(PjrtProgram, AViewOfWeightsIsConstantToo) {
  std::string module = message({{1, "tiny"}});
  put_bytes(
      &module, 3,
      computation(1, {instruction("x", "parameter", 10, "x"), instruction("w", "constant", 11, ""),
                      instruction("bitcast.1", "bitcast", 12, "", {11}),
                      instruction("transpose.1", "transpose", 13, "", {12}),
                      instruction("gemm.1", "dot", 14, "", {10, 13})}));
  put_integer(&module, 6, 1);
  const Program program = read_program(bytes_of(module));
  for (const auto& [id, is_constant] :
       {std::pair{10, false}, {11, true}, {12, true}, {13, true}, {14, false}}) {
    EXPECT_EQ(program.instructions.at(id).is_constant, is_constant) << id;
  }
}

// As XLA's VGG-19 on an H200: a fusion has the ReLU before the second product, and its parts.
TEST(PjrtProgram, ADividedProductIsThatOfTheLayerThatAddsItsParts) {
  std::string module = message({{1, "tiny"}});
  put_bytes(&module, 3,
            computation(1, {instruction("p", "parameter", 10, ""),
                            instruction("relu", "maximum", 11, "relu1", {10}),
                            instruction("dot.5", "dot", 12, "", {11})}));
  put_bytes(&module, 3,
            computation(2, {instruction("q", "parameter", 20, ""),
                            instruction("sum", "add", 21, "fc2", {20}),
                            instruction("relu.2", "maximum", 22, "relu2", {21})}));
  put_bytes(&module, 3,
            computation(3, {instruction("x", "parameter", 30, "x"),
                            instruction("copy.1", "copy", 36, "", {30}),
                            instruction("gemm.1", "dot", 31, "", {36}),
                            instruction("bitcast.1", "bitcast", 32, "", {31}),
                            instruction("add.1", "add", 33, "fc1", {32}),
                            instruction("gemm_fusion.2", "fusion", 34, "", {33}, 1),
                            instruction("add_fusion.2", "fusion", 35, "", {34}, 2)}));
  put_integer(&module, 6, 3);
  const Program program = read_program(bytes_of(module));
  const auto sources = [&](const char* name) {
    return program.instructions.at(program.by_name.at(name)).sources;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(sources("gemm.1"), Names{"fc1"});
  EXPECT_EQ(sources("gemm_fusion.2"), (Names{"fc2", "relu1"}));
  EXPECT_EQ(sources("add_fusion.2"), (Names{"fc2", "relu2"}));
  EXPECT_EQ(sources("x"), Names{"x"});
  EXPECT_EQ(sources("copy.1"), Names{});  // no product
}

TEST(PjrtProgram, TheWorkspaceOfALibraryIsNoOutput) {
  constexpr int kTuple = 13, kFloat = 11, kUnsignedByte = 6;
  const auto outputs_of = [](const std::string& target, const std::string& second) {
    std::string tuple, call = message({{1, "call.1"}, {2, "custom-call"}, {28, target}});
    put_integer(&tuple, 2, kTuple);
    put_bytes(&tuple, 4, shape(kFloat, {2, 3}));
    put_bytes(&tuple, 4, second);
    put_bytes(&call, 3, tuple);
    put_integer(&call, 35, 7);
    std::string module = message({{1, "tiny"}, {3, computation(1, {call})}});
    put_integer(&module, 6, 1);
    return read_program(bytes_of(module)).instructions.at(7).outputs;
  };
  const std::string workspace = shape(kUnsignedByte, {38'000'000});
  ASSERT_EQ(outputs_of("__cudnn$convForward", workspace).size(), 1u);
  EXPECT_EQ(outputs_of("__cudnn$convForward", workspace)[0].bytes(), 24);
  EXPECT_EQ(outputs_of("__cublas$gemm", workspace).size(), 1u);
  EXPECT_EQ(outputs_of("__cudnn$convBackward", shape(kFloat, {9})).size(), 2u);
  EXPECT_EQ(outputs_of("a_function_of_the_user", workspace).size(), 2u);
}

TEST(PjrtProfiler, EventsOfStreamsAreReadWithTheirInstruction) {
  std::string op_name, event, line, plane;
  put_integer(&op_name, 1, 7);
  put_integer(&op_name, 7, 8);  // a reference to the name of stat 8
  put_integer(&event, 1, 3);
  put_integer(&event, 2, 2'000'000);
  put_integer(&event, 3, 5'000'000);
  put_bytes(&event, 4, op_name);
  put_bytes(&line, 2, "Stream #13(Compute)");
  put_integer(&line, 3, 1000);
  put_bytes(&line, 4, event);
  const auto entry = [](int64_t id, const std::string& name) {
    std::string text;
    put_integer(&text, 1, id);
    put_bytes(&text, 2, message({{2, name}}));
    return text;
  };
  put_bytes(&plane, 2, "/device:GPU:0");
  put_bytes(&plane, 3, line);
  put_bytes(&plane, 3, message({{2, "XLA Ops"}, {4, event}}));
  put_bytes(&plane, 4, entry(3, "loop_add"));
  put_bytes(&plane, 5, entry(7, "hlo_op"));
  put_bytes(&plane, 5, entry(8, "fusion.3"));
  const std::string space = message({{1, plane}, {1, message({{2, "/host:CPU"}})}});
  const auto events = read_space(bytes_of(space));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "loop_add");
  EXPECT_EQ(events[0].hlo_op, "fusion.3");
  EXPECT_EQ(events[0].start_ns, 3000);
  EXPECT_EQ(events[0].end_ns, 8000);
}

}  // namespace
}  // namespace xsp::pjrt
