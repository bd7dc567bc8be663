#include "capture/worker_inputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "capture/worker_npy.h"

namespace xsp::capture {
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
  const auto made = make_inputs(specs, options);
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
  const auto made = make_inputs(kImage, options);
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->tensors[0].dimensions, (Shape{4, 3, 32, 32}));
  EXPECT_EQ(made->tensors[0].data.size(), 4u * 3 * 32 * 32 * 4);
  EXPECT_EQ(made->batch, 4);
  EXPECT_TRUE(made->notes.empty());
}

TEST(WorkerInputs, ASymbolHasOneValueEverywhere) {
  const auto made = make_inputs(kText, with_inputs({"input_ids=2x16"}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->batch, 2);
  EXPECT_EQ(made->tensors[2].dimensions, (Shape{2, 2, 128, 4}));
  EXPECT_EQ(made->tensors[1].dimensions, (Shape{2, 16 + 128}));
  ASSERT_EQ(made->notes.size(), 1u);  // past_length was chosen
  EXPECT_NE(made->notes[0].find("past_length"), std::string::npos);
}

TEST(WorkerInputs, ValuesAreValidAndRepeatable) {
  const std::vector<TensorSpec> specs = {{"x", XSP_FLOAT32, {1000}, {""}},
                                         {"h", XSP_FLOAT16, {1000}, {""}},
                                         {"ids", XSP_INT64, {1000}, {""}},
                                         {"mask", XSP_BOOL, {1000}, {""}},
                                         {"position_ids", XSP_INT32, {10, 100}, {"", ""}}};
  WorkerOptions options;
  const auto made = make_inputs(specs, options);
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

  EXPECT_EQ(make_inputs(specs, options)->tensors[0].data, made->tensors[0].data);
  options.seed = 2;
  EXPECT_NE(make_inputs(specs, options)->tensors[0].data, made->tensors[0].data);
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
  const auto made = make_inputs(specs, with_inputs({"x=@" + path_.string()}));
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->batch, 2);
  EXPECT_EQ(made->tensors[0].data, array->data);
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
}  // namespace xsp::capture
