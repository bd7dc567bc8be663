#include "formats/onnx/shapes.h"

#include <gtest/gtest.h>

#include "formats/onnx/builder.h"

namespace xsp::formats {
namespace {

Shape shape_of(const Builder& b, const Value& value, int64_t batch = 2) {
  const Result<KnownValues> values = infer_shapes(b.graph(), {{"batch", batch}});
  if (!values.ok()) ADD_FAILURE() << values.error().text;
  const auto found = values.ok() ? values->find(value.name) : KnownValues::const_iterator();
  return values.ok() && found != values->end() ? found->second.shape : Shape{-100};
}

Value image(Builder& b, int64_t channels, int64_t size) {
  return b.input("x", kFloat32, {symbolic("batch"), fixed(channels), fixed(size), fixed(size)});
}

TEST(Shapes, Windows) {
  Builder b("m");
  const Value x = image(b, 8, 15);
  EXPECT_EQ(shape_of(b, b.conv("a", x, 4, {3, 2, 1})), (Shape{2, 4, 8, 8}));
  EXPECT_EQ(shape_of(b, b.conv("b", x, 8, {3, 1, 0, 8})), (Shape{2, 8, 13, 13}));
  EXPECT_EQ(shape_of(b, b.conv("c", x, 4, {1, 1, 0, 1, false, 7, 3})), (Shape{2, 4, 15, 15}));
  EXPECT_EQ(shape_of(b, b.conv("d", x, 4, same_window(15, 3, 2))), (Shape{2, 4, 8, 8}));
  EXPECT_EQ(shape_of(b, b.max_pool("e", x, {3, 2})), (Shape{2, 8, 7, 7}));
  EXPECT_EQ(shape_of(b, b.global_average_pool("f", x)), (Shape{2, 8, 1, 1}));
  EXPECT_EQ(shape_of(b, b.flatten("g", x)), (Shape{2, 1800}));
  EXPECT_EQ(shape_of(b, b.node("h", "MaxPool", {x},
                               {attribute("kernel_shape", {2, 2}), attribute("strides", {2, 2}),
                                attribute("ceil_mode", int64_t{1})})),
            (Shape{2, 8, 8, 8}));
}

TEST(Shapes, FollowIntegersThroughTheGraph) {
  Builder b("m");
  const Value x = b.input("x", kFloat32, {symbolic("batch"), symbolic("sequence"), fixed(12)});
  b.default_dimension("sequence", 5);
  const Value shape = b.unary("shape", "Shape", x);
  const Value length = b.gather("length", shape, b.constant("one", {1}), 0);
  const Value doubled = b.binary("doubled", "Mul", length, b.constant("two", {2}));
  const Value half = b.constant("six", {6});
  const Value target = b.node("target", "Concat", {b.constant("minus_one", {-1}), doubled, half},
                              {attribute("axis", int64_t{0})});
  EXPECT_EQ(shape_of(b, b.node("y", "Reshape", {x, target})), (Shape{2, 10, 6}));
  const Value table = b.buffer("table", {1, 512}, std::vector<int64_t>(512, 3));
  const Value part =
      b.node("part", "Slice", {table, b.constant("zero", {0}), length, b.constant("axis", {1})});
  EXPECT_EQ(shape_of(b, part), (Shape{1, 5}));
}

TEST(Shapes, Sequences) {
  Builder b("m");
  const Value x = b.input("x", kFloat32, {symbolic("batch"), fixed(7), fixed(12)});
  Value y = b.dense("dense", {x.name, 12}, 24);
  EXPECT_EQ(shape_of(b, y), (Shape{2, 7, 24}));
  y = b.transpose("heads", b.reshape("split", y, {0, 0, 3, 8}, 24), {0, 2, 3, 1});
  EXPECT_EQ(shape_of(b, y), (Shape{2, 3, 8, 7}));
  const Value mask = b.node("mask", "Unsqueeze", {x, b.constant("axes", {1, -1})});
  EXPECT_EQ(shape_of(b, mask), (Shape{2, 1, 7, 12, 1}));
  EXPECT_EQ(shape_of(b, b.node("squeezed", "Squeeze", {mask, b.constant("axis", {1})})),
            (Shape{2, 7, 12, 1}));
  const std::vector<Value> parts = b.nodes("parts", "Split", {x, b.constant("sizes", {5, 7})},
                                           {attribute("axis", int64_t{-1})}, {5, 7});
  EXPECT_EQ(shape_of(b, parts[1]), (Shape{2, 7, 7}));
  EXPECT_EQ(shape_of(b, b.gather("first", x, b.constant("index", {0}), 1)), (Shape{2, 1, 12}));
}

TEST(Shapes, AnUnknownOperatorHidesOnlyWhatFollowsIt) {
  Builder b("m");
  const Value x = image(b, 3, 8);
  const Value strange = b.unary("strange", "SomebodysOwn", x);
  const Value after = b.relu("after", strange);
  const Value beside = b.relu("beside", x);
  EXPECT_EQ(shape_of(b, after), Shape{-100});
  EXPECT_EQ(shape_of(b, beside), (Shape{2, 3, 8, 8}));
}

TEST(Shapes, ADimensionWithoutAValueIsAUsageError) {
  Builder b("m");
  b.input("x", kFloat32, {symbolic("batch"), symbolic("width")});
  const Result<KnownValues> values = infer_shapes(b.graph(), {{"batch", 1}});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code, Code::kUsage);
  EXPECT_NE(values.error().text.find("'width'"), std::string::npos);
}

TEST(Shapes, ContradictionsNameTheNode) {
  Builder b("m");
  const Value x = image(b, 3, 8);
  b.conv("stem", {x.name, 5}, 8, {3, 1, 1});
  const Result<KnownValues> values = infer_shapes(b.graph(), {{"batch", 1}});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().code, Code::kCorrupt);
  EXPECT_EQ(values.error().text.rfind("node 'stem' (Conv): ", 0), 0u) << values.error().text;
}

TEST(Work, CountsMultiplyAccumulates) {
  Builder b("m");
  const Value x = image(b, 8, 10);
  b.conv("conv", x, 16, {3, 1, 1});
  b.conv("depthwise", x, 8, {3, 1, 1, 8, true});
  const Value flat = b.flatten("flat", x);
  b.gemm("fc", {flat.name, 800}, 10);
  b.node("bn_free", "Relu", {x});
  const Result<KnownValues> values = infer_shapes(b.graph(), {{"batch", 2}});
  ASSERT_TRUE(values.ok()) << values.error().text;
  const std::vector<Node>& nodes = b.graph().nodes;
  EXPECT_EQ(node_work(nodes[0], *values).macs, 2 * 16 * 10 * 10 * 8 * 9);
  EXPECT_EQ(node_work(nodes[0], *values).flops, 2 * 2 * 16 * 10 * 10 * 8 * 9);
  EXPECT_EQ(node_work(nodes[1], *values).macs, 2 * 8 * 10 * 10 * 9);
  EXPECT_EQ(node_work(nodes[1], *values).flops, 2 * 2 * 8 * 10 * 10 * 9) << "a bias costs nothing";
  EXPECT_EQ(node_work(nodes[3], *values).macs, 2 * 800 * 10);
  EXPECT_EQ(node_work(nodes[4], *values).flops, 0);
}

TEST(Work, SizesBeyondAllNumbersSaturate) {
  Builder b("m");
  const Value x = b.input("x", kFloat32, {fixed(INT64_MAX / 2), fixed(INT64_MAX / 2)});
  const Value w = b.input("w", kFloat32, {fixed(INT64_MAX / 2), fixed(7)});
  b.node("y", "MatMul", {x, w});
  const Result<KnownValues> values = infer_shapes(b.graph(), {});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(node_work(b.graph().nodes[0], *values).macs, INT64_MAX);
}

TEST(Parameters, StatisticsAreNotLearned) {
  Builder b("m");
  const Value x = image(b, 3, 8);
  b.batch_norm("bn", b.conv("conv", x, 10, {}));
  b.buffer("ids", {100}, std::vector<int64_t>(100, 1));
  EXPECT_EQ(count_parameters(b.graph()).learned, 30 + 20);
  EXPECT_EQ(count_parameters(b.graph()).statistics, 20);
}

}  // namespace
}  // namespace xsp::formats
