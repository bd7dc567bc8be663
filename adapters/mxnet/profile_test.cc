#include "adapters/mxnet/profile.h"

#include <gtest/gtest.h>

#include <sstream>

namespace xsp::mxnet {
namespace {

std::string event(const char* name, char phase, int64_t time_us, const char* category) {
  return std::string("    {\n        \"name\": \"") + name + "\",\n        \"cat\": \"" + category +
         "\",\n        \"ph\": \"" + phase + "\",\n        \"ts\": " + std::to_string(time_us) +
         ",\n        \"pid\": 0,\n        \"tid\": 9313111876918866127\n    }\n,\n";
}

TEST(MxnetProfile, PairsOfOperatorsAreReadAndNothingElse) {
  std::istringstream file(
      "{\n    \"traceEvents\": [\n        {\n            \"ph\": \"M\",\n            \"args\": {\n"
      "                \"name\": \"cpu/0\"\n            },\n            \"pid\": 0,\n            "
      "\"name\": \"process_name\"\n        },\n" +
      event("Convolution", 'B', 100, "operator") + event("Convolution", 'E', 140, "operator") +
      event("Alloc", 'B', 141, "memory") + event("Alloc", 'E', 142, "memory") +
      event("[Pooling,FullyConnected]", 'B', 150, "operator") +
      event("[Pooling,FullyConnected]", 'E', 151, "operator") +
      event("Convolution", 'b', 100, "operator") + event("Convolution", 'e', 139, "operator") +
      "    ],\n    \"displayTimeUnit\": \"ms\"\n}\n");
  OperatorEvent found;
  ASSERT_TRUE(next_operator(file, &found));
  EXPECT_EQ(found.name, "Convolution");
  EXPECT_EQ(found.start_us, 100);
  EXPECT_EQ(found.end_us, 140);
  ASSERT_TRUE(next_operator(file, &found));
  EXPECT_EQ(found.name, "[Pooling,FullyConnected]");
  EXPECT_FALSE(next_operator(file, &found));
}

TEST(MxnetProfile, AFileThatEndsEarlyGivesWhatIsWhole) {
  std::istringstream file(event("a", 'B', 1, "operator") + event("a", 'E', 2, "operator") +
                          event("b", 'B', 3, "operator"));
  OperatorEvent found;
  EXPECT_TRUE(next_operator(file, &found));
  EXPECT_FALSE(next_operator(file, &found));
}

}  // namespace
}  // namespace xsp::mxnet
