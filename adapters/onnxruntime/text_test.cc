#include "adapters/onnxruntime/text.h"

#include <gtest/gtest.h>

#include "xsp/adapter.hpp"

namespace xsp::ort {
namespace {

TEST(OnnxRuntimeText, MessagesLoseLinesAndSourceLocations) {
  EXPECT_EQ(condensed("Protobuf parsing failed."), "Protobuf parsing failed");
  EXPECT_EQ(condensed(" two\n\tlines \r\n"), "two lines");
  EXPECT_EQ(condensed("/src/core/graph/model.cc:181 ns::Model::Model(const P&, std::map<int, int>) "
                      "Unknown version."),
            "Unknown version");
  EXPECT_EQ(condensed("Failed: /src/core/load.h:46 void ns::Check(bool, int) opset 900 is too new"),
            "Failed: opset 900 is too new");
  EXPECT_EQ(condensed("/src/a.cc:12 Run failed at b.cc:13 f here"), "failed at here");
  EXPECT_EQ(condensed("Message: onnxruntime::Arena::Get(size_t, bool, onnxruntime::S*) no memory"),
            "Message: no memory");
  EXPECT_EQ(condensed("onnxruntime::Status is a type"), "onnxruntime::Status is a type");
  EXPECT_EQ(condensed(""), "");
  EXPECT_LT(condensed(std::string(10'000, 'x')).size(), 400u);
}

TEST(OnnxRuntimeText, JsonIsEscaped) {
  EXPECT_EQ(json_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(json_string("\xc3\xa9\xff"), "\"\xc3\xa9?\"");
  EXPECT_EQ(json_strings({}), "[]");
  EXPECT_EQ(json_strings({"a", "b"}), "[\"a\",\"b\"]");
  EXPECT_EQ(json_shapes({{1, 3}, {}, {7}}), "[[1,3],[],[7]]");
}

}  // namespace
}  // namespace xsp::ort
