#include "process/worker/inputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "process/worker/npy.h"

namespace xsp::process {
namespace {

using Shape = std::vector<int64_t>;

const std::vector<TensorSpec> kImage = {{"x", XSP_FLOAT32, {-1, 3, 32, 32}, {"batch", "", "", ""}}};
const std::vector<TensorSpec> kText = {
    {"input_ids", XSP_INT64, {-1, -1}, {"batch", "sequence"}},
    {"attention_mask", XSP_INT64, {-1, -1}, {"batch", "past_length + sequence"}},
    {"past", XSP_FLOAT16, {-1, 2, -1, 4}, {"batch", "", "past_length", ""}},
};

WorkerOptions with_inputs(std::vector<std::string> inputs) {
  WorkerOptions options;
  for (const std::string& input : inputs) options.inputs.push_back(*parse_input_option(input));
  return options;
}

std::string error_of(const std::vector<TensorSpec>& specs, const WorkerOptions& options) {
  const auto made = make_inputs(specs, {}, options);
  return made.ok() ? "" : made.error().text;
}

template <typename Element>
std::vector<Element> elements(const Tensor& tensor) {
  std::vector<Element> values(tensor.data.size() / sizeof(Element));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TEST(WorkerInputs, TheBatchFillsItsDimension) {
  WorkerOptions options;
  options.batch = 4;
  const auto made = make_inputs(kImage, {}, options);
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->tensors[0].dimensions, (Shape{4, 3, 32, 32}));
  EXPECT_EQ(made->tensors[0].data.size(), 4u * 3 * 32 * 32 * 4);
  EXPECT_EQ(made->batch, 4);
  EXPECT_TRUE(made->notes.empty());
}

TEST(WorkerInputs, AShapeMayLeaveTheBatchOpen) {
  WorkerOptions options = with_inputs({"input_ids=batchx16"});
  options.batch = 4;
  const auto made = make_inputs(kText, {}, options);
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->batch, 4);
  EXPECT_EQ(made->tensors[0].dimensions, (Shape{4, 16}));
  EXPECT_EQ(make_inputs(kText, {}, with_inputs({"input_ids=batchx16"}))->batch, 1);
  EXPECT_EQ(given_shapes(options.inputs), "input input_ids float32 batch,16\n");
  EXPECT_FALSE(parse_input_option("x=batchesx16").ok());
}

TEST(WorkerInputs, ASymbolHasOneValueEverywhere) {
  const auto made = make_inputs(kText, {}, with_inputs({"input_ids=2x16"}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->batch, 2);
  EXPECT_EQ(made->tensors[2].dimensions, (Shape{2, 2, 128, 4}));
  EXPECT_EQ(made->tensors[1].dimensions, (Shape{2, 16 + 128}));
  ASSERT_EQ(made->notes.size(), 1u);  // past_length was chosen
  EXPECT_NE(made->notes[0].find("past_length"), std::string::npos);
}

// Dimensions that are named "?" have only the name in common.
TEST(WorkerInputs, AQuestionMarkIsNoSymbol) {
  const std::vector<TensorSpec> specs = {{"a", XSP_FLOAT32, {-1, -1, 4}, {"?", "?", ""}},
                                         {"b", XSP_INT64, {-1, -1}, {"?", "?"}}};
  const auto made = make_inputs(specs, {}, with_inputs({"a=2x5x4"}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->tensors[0].dimensions, (Shape{2, 5, 4}));
  EXPECT_EQ(made->tensors[1].dimensions, (Shape{2, 128}));
  EXPECT_TRUE(make_inputs(specs, {}, with_inputs({"a=2x5x4", "b=3x7"})).ok());
}

struct BatchCase {
  const char* what;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<std::string> given;
  std::optional<int64_t> wanted;
  std::optional<int64_t> expected;
  const char* why = "";
};

TensorSpec shaped(const char* name, Shape dimensions, std::vector<std::string> symbols = {}) {
  symbols.resize(dimensions.size());
  return {name, XSP_FLOAT32, std::move(dimensions), std::move(symbols)};
}

TEST(WorkerInputs, TheBatchIsKnownWhereSomethingTellsIt) {
  const std::vector<BatchCase> cases = {
      {"a symbol", {shaped("x", {-1, 3}, {"batch"})}, {}, {"x=7x3"}, {}, 7},
      {"a first dimension left alone", {shaped("x", {-1, 3})}, {}, {}, {}, 1},
      {"one that was chosen", {shaped("x", {-1, 256})}, {}, {"x=64x256"}, {}, 64},
      {"any matrix", {shaped("x", {-1, -1})}, {}, {"x=256x256"}, {}, {}, "--batch 256"},
      {"and said", {shaped("x", {-1, -1})}, {}, {"x=256x256"}, 256, 256},
      {"two inputs of one chosen",
       {shaped("x", {-1, -1}), shaped("y", {-1, -1})},
       {},
       {"x=256x256"},
       {},
       {},
       "begins with a dimension of 256"},
      {"two products",
       {shaped("a", {-1, -1}, {"?", "?"}), shaped("b", {-1, -1}, {"?", "?"})},
       {},
       {"a=40x64", "b=64x32"},
       {},
       {},
       "'a' with 40, 'b' with 64"},
      {"two of one symbol",
       {shaped("a", {-1, 3}, {"rows"}), shaped("b", {-1, 5}, {"rows"})},
       {},
       {"a=6x3"},
       {},
       6},
      {"two of two",
       {shaped("a", {-1, 3}, {"rows"}), shaped("b", {-1, 5}, {"lines"})},
       {},
       {"a=6x3", "b=7x5"},
       {},
       {},
       "'a' with 6, 'b' with 7"},
      {"a fixed image", {shaped("x", {1, 3, 8, 8})}, {shaped("y", {1, 10})}, {}, {}, 1},
      {"fixed images", {shaped("x", {8, 3, 8, 8})}, {shaped("y", {8, 10})}, {}, {}, 8},
      {"of unknown results", {shaped("x", {8, 3, 8, 8})}, {shaped("y", {-1, 10})}, {}, {}, 8},
      {"other results",
       {shaped("x", {8, 3, 8, 8})},
       {shaped("y", {8, 4}), shaped("boxes", {100, 4})},
       {},
       {},
       {},
       "output 'boxes' with 100"},
      {"a matrix", {shaped("x", {256, 256})}, {shaped("y", {256, 256})}, {}, {}, {}, "need not be"},
      {"one that was said", {shaped("x", {256, 256})}, {}, {}, 256, 256},
      {"a row", {shaped("x", {1, 256})}, {shaped("y", {1, 256})}, {}, {}, 1},
      {"a row and a matrix",
       {shaped("x", {1, 256}), shaped("y", {256, 256})},
       {},
       {},
       {},
       {},
       "'x' with 1, 'y' with 256"},
      {"an image and a scalar", {shaped("n", {}), shaped("x", {1, 3, 8, 8})}, {}, {}, {}, 1},
      {"scalars", {shaped("n", {})}, {}, {}, {}, {}, "no input has dimensions"},
      {"nothing", {}, {}, {}, {}, {}, "no input has dimensions"}};
  for (const BatchCase& one : cases) {
    WorkerOptions options = with_inputs(one.given);
    options.batch = one.wanted;
    const auto made = make_inputs(one.inputs, one.outputs, options);
    ASSERT_TRUE(made.ok()) << one.what << ": " << made.error().text;
    EXPECT_EQ(made->batch, one.expected) << one.what << ": " << made->batch_unknown;
    EXPECT_NE(made->batch_unknown.find(one.why), std::string::npos) << made->batch_unknown;
    EXPECT_EQ(made->batch_unknown.empty(), made->batch.has_value()) << one.what;
  }
}

TEST(WorkerInputs, AValueFillsEveryElementOfItsType) {
  const std::vector<TensorSpec> specs = {
      {"n", XSP_INT64, {}, {}},         {"flag", XSP_BOOL, {}, {}},
      {"ids", XSP_INT32, {1, 4}, {}},   {"x", XSP_FLOAT32, {3}, {}},
      {"d", XSP_FLOAT64, {1}, {}},      {"h", XSP_FLOAT16, {2}, {}},
      {"b", XSP_BFLOAT16, {2}, {}},     {"u=8", XSP_UINT8, {-1, 2}, {"batch", ""}},
      {"small", XSP_FLOAT16, {1}, {}},  {"between", XSP_FLOAT16, {1}, {}},
      {"largest", XSP_UINT64, {1}, {}}, {"mean", XSP_FLOAT16, {1}, {}}};
  std::vector<TensorSpec> complete = specs;
  for (TensorSpec& spec : complete) spec.symbols.resize(spec.dimensions.size());
  const auto made =
      make_inputs(complete, {},
                  with_inputs({"n==-5", "flag==1", "ids==7", "x==0.25", "d==1e300", "h==-1.5",
                               "b==3", "u=8==200", "u=8=3x2", "small==6e-8", "between==2049",
                               "largest==18446744073709551615", "mean==65504"}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(elements<int64_t>(made->tensors[0]), (std::vector<int64_t>{-5}));
  EXPECT_EQ(elements<uint8_t>(made->tensors[1]), (std::vector<uint8_t>{1}));
  EXPECT_EQ(elements<int32_t>(made->tensors[2]), (std::vector<int32_t>{7, 7, 7, 7}));
  EXPECT_EQ(elements<float>(made->tensors[3]), (std::vector<float>{0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(elements<double>(made->tensors[4]), (std::vector<double>{1e300}));
  EXPECT_EQ(elements<uint16_t>(made->tensors[5]), (std::vector<uint16_t>{0xbe00, 0xbe00}));
  EXPECT_EQ(elements<uint16_t>(made->tensors[6]), (std::vector<uint16_t>{0x4040, 0x4040}));
  EXPECT_EQ(elements<uint8_t>(made->tensors[7]), (std::vector<uint8_t>(6, 200)));
  EXPECT_EQ(elements<uint16_t>(made->tensors[8]), (std::vector<uint16_t>{1}));       // 2^-24
  EXPECT_EQ(elements<uint16_t>(made->tensors[9]), (std::vector<uint16_t>{0x6800}));  // 2048: even
  EXPECT_EQ(elements<uint64_t>(made->tensors[10]), (std::vector<uint64_t>{~uint64_t{0}}));
  EXPECT_EQ(elements<uint16_t>(made->tensors[11]), (std::vector<uint16_t>{0x7bff}));
  EXPECT_EQ(made->tensors[0].values, "-5, as given");
  EXPECT_TRUE(made->notes.empty()) << made->notes[0];
}

// A single integer may set the number of a loop's iterations: a note says that it is made up.
TEST(WorkerInputs, SaysHowValuesWereDrawn) {
  const std::vector<TensorSpec> specs = {{"n", XSP_INT64, {}, {}},
                                         {"x", XSP_FLOAT32, {1, 4}, {"", ""}},
                                         {"attention_mask", XSP_INT64, {1, 4}, {"", ""}},
                                         {"ids", XSP_INT64, {1, 4}, {"", ""}},
                                         {"sr", XSP_INT64, {}, {}}};
  WorkerOptions options;
  options.seed = 3;
  const auto made = make_inputs(specs, {}, options);
  ASSERT_TRUE(made.ok()) << made.error().text;
  const std::string n = std::to_string(elements<int64_t>(made->tensors[0])[0]);
  EXPECT_EQ(made->tensors[0].values, n + ", random, 0 to 99, seed 3");
  EXPECT_EQ(made->tensors[1].values, "random in (-1, 1), seed 3");
  EXPECT_EQ(made->tensors[2].values, "1, as in a mask");
  EXPECT_EQ(made->tensors[3].values, "random, 0 to 99, seed 3");
  EXPECT_EQ(made->tensors[4].values, "16000, as a sample rate");
  EXPECT_EQ(elements<int64_t>(made->tensors[4]), std::vector<int64_t>{16000});
  EXPECT_EQ(made_up_text(made->tensors),
            " (made up: --input n==" + n +
                " --input x=1x4 --input attention_mask=1x4 --input ids=1x4 --input sr==16000)");
  ASSERT_EQ(made->notes.size(), 2u);
  EXPECT_NE(made->notes[0].find("--input n==VALUE"), std::string::npos) << made->notes[0];
}

// The rows of a small table, of a table larger than any integer that is made up, and bytes.
TEST(WorkerInputs, IntegersAreBelowTheLimitThatTheModelStates) {
  const int64_t dimensions[] = {1000};
  const xsp_tensor_info infos[] = {
      {sizeof(xsp_tensor_info), "few", XSP_INT64, 1, dimensions, nullptr, 3},
      {sizeof(xsp_tensor_info), "many", XSP_INT32, 1, dimensions, nullptr, 50000},
      {sizeof(xsp_tensor_info), "pixels", XSP_UINT8, 1, dimensions, nullptr, 16}};
  const auto made = make_inputs(specs_of(infos, 3), {}, {});
  ASSERT_TRUE(made.ok()) << made.error().text;
  const auto most = [&](auto element, size_t i) {
    const auto all = elements<decltype(element)>(made->tensors[i]);
    return static_cast<int64_t>(*std::max_element(all.begin(), all.end()));
  };
  EXPECT_EQ(most(int64_t{}, 0), 2);
  EXPECT_EQ(most(int32_t{}, 1), 99);
  EXPECT_EQ(most(uint8_t{}, 2), 15);
  EXPECT_EQ(made->tensors[0].values, "random, 0 to 2, seed 1");
}

// An adapter that was built before the limit has shorter descriptions.
TEST(WorkerInputs, AnOlderAdapterStatesNoLimit) {
  const int64_t dimensions[] = {4};
  xsp_tensor_info info = {sizeof(xsp_tensor_info), "x", XSP_INT64, 1, dimensions, nullptr, 3};
  info.struct_size = offsetof(xsp_tensor_info, below);
  EXPECT_EQ(specs_of(&info, 1)[0].below, 0u);
}

TEST(WorkerInputs, ValuesAreValidAndRepeatable) {
  const std::vector<TensorSpec> specs = {{"x", XSP_FLOAT32, {1000}, {""}},
                                         {"h", XSP_FLOAT16, {1000}, {""}},
                                         {"ids", XSP_INT64, {1000}, {""}},
                                         {"mask", XSP_BOOL, {1000}, {""}},
                                         {"position_ids", XSP_INT32, {10, 100}, {"", ""}}};
  WorkerOptions options;
  const auto made = make_inputs(specs, {}, options);
  ASSERT_TRUE(made.ok()) << made.error().text;
  std::set<float> distinct;
  for (const float v : elements<float>(made->tensors[0])) {
    EXPECT_TRUE(std::fabs(v) >= 0x1p-10f && std::fabs(v) < 1.0f) << v;
    distinct.insert(v);
  }
  EXPECT_GT(distinct.size(), 990u);
  for (const uint16_t half : elements<uint16_t>(made->tensors[1])) {
    const int exponent = (half >> 10) & 0x1f;
    EXPECT_TRUE(exponent >= 5 && exponent < 15) << half;  // normal, of magnitude 2^-10 to 1
  }
  for (const int64_t v : elements<int64_t>(made->tensors[2])) EXPECT_TRUE(v >= 0 && v < 100) << v;
  for (const uint8_t v : elements<uint8_t>(made->tensors[3])) EXPECT_EQ(v, 1);
  EXPECT_EQ(elements<int32_t>(made->tensors[4])[250], 50);

  EXPECT_EQ(make_inputs(specs, {}, options)->tensors[0].data, made->tensors[0].data);
  options.seed = 2;
  EXPECT_NE(make_inputs(specs, {}, options)->tensors[0].data, made->tensors[0].data);
}

TEST(WorkerInputs, SaysWhatIsWrongAndWhatTheModelTakes) {
  struct Case {
    const std::vector<TensorSpec>& specs;
    WorkerOptions options;
    const char* expected;
  };
  WorkerOptions batch;
  batch.batch = 4;
  const std::vector<TensorSpec> fixed = {{"x", XSP_FLOAT32, {1, 3}, {"", ""}}};
  const std::vector<TensorSpec> text = {{"x", 8, {1}, {""}}};
  for (const Case& c : std::vector<Case>{
           {kImage, with_inputs({"y=1"}), "no such input"},
           {kImage, with_inputs({"x=1x3x32"}), "3 dimensions instead of 4"},
           {kImage, with_inputs({"x=1x3x32x33"}), "dimension 3 is fixed at 32"},
           {kImage, with_inputs({"x=1x3x32x32:int64"}), "float32, not int64"},
           {kImage, with_inputs({"x=1x3x32x32", "x=1x3x32x32"}), "given twice"},
           {kImage, with_inputs({"x=1099511627776x3x32x32"}), "more memory"},
           {kText, with_inputs({"input_ids=1x8", "past=2x2x8x4"}), "the batch is 1"},
           {fixed, batch, "fixed at 1"},
           {kImage, with_inputs({"x==1", "x==2"}), "given twice"},
           {kImage, with_inputs({"x==1e39"}), "more than its type can hold"},
           {kText, with_inputs({"input_ids==1.5"}), "not an integer"},
           {kText, with_inputs({"past==70000"}), "more than its type can hold"},
           {text, {}, "type"},
       }) {
    const std::string error = error_of(c.specs, c.options);
    EXPECT_NE(error.find(c.expected), std::string::npos) << error << " / " << c.expected;
    EXPECT_NE(error.find("the model takes"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

class NpyTest : public testing::Test {
 protected:
  NpyTest()
      : path_(std::filesystem::temp_directory_path() / ("xsp-npy-" + std::to_string(getpid()))) {}
  ~NpyTest() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path path_;
};

TEST_F(NpyTest, WhatIsWrittenIsRead) {
  const Shape dimensions = {2, 3};
  const float data[] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(write_npy(path_, {sizeof(xsp_tensor), "x", XSP_FLOAT32, 2, dimensions.data(), data,
                                sizeof data})
                  .ok());
  EXPECT_EQ((bytes().size() - sizeof data) % 64, 0u);
  const auto array = read_npy(path_);
  ASSERT_TRUE(array.ok()) << array.error().text;
  EXPECT_EQ(array->dtype, static_cast<uint32_t>(XSP_FLOAT32));
  EXPECT_EQ(array->dimensions, dimensions);
  EXPECT_EQ(std::memcmp(array->data.data(), data, sizeof data), 0);

  const std::vector<TensorSpec> specs = {{"x", XSP_FLOAT32, {-1, 3}, {"", ""}}};
  const auto made = make_inputs(specs, {}, with_inputs({"x=@" + path_.string()}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->batch, 2);
  EXPECT_EQ(made->tensors[0].data, array->data);
  EXPECT_EQ(made->tensors[0].values, "of " + path_.string());
  for (const bool file_first : {false, true}) {
    std::vector<std::string> both = {"x==1", "x=@" + path_.string()};
    if (file_first) std::swap(both[0], both[1]);
    EXPECT_NE(error_of(specs, with_inputs(both)).find("those of a file"), std::string::npos);
  }
}

TEST_F(NpyTest, ForeignBytesAreRefused) {
  const Shape dimensions = {2};
  const int64_t data[] = {1, 2};
  ASSERT_TRUE(write_npy(path_, {sizeof(xsp_tensor), "x", XSP_INT64, 1, dimensions.data(), data,
                                sizeof data})
                  .ok());
  const std::string good = bytes();
  for (size_t cut = 0; cut < good.size(); ++cut) {
    write(good.substr(0, cut));
    EXPECT_FALSE(read_npy(path_).ok()) << cut;
  }
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {good + "x", replaced("<i8", ">i8"), replaced("<i8", "|O8"), replaced("False", "True "),
        replaced("(2,)", "(-2)"), replaced("(2,)", "(9999999999999999999999,)"),
        replaced("(2,)", "(4611686018427387904,4,)"), replaced("shape", "shame"),
        replaced("NUMPY", "NUMBY")}) {
    write(bad);
    const auto array = read_npy(path_);
    ASSERT_FALSE(array.ok()) << bad;
    EXPECT_EQ(array.error().text.find('\n'), std::string::npos);
  }
  std::filesystem::remove(path_);
  EXPECT_FALSE(read_npy(path_).ok());
  EXPECT_FALSE(read_npy(path_.parent_path()).ok());
}

}  // namespace
}  // namespace xsp::process
