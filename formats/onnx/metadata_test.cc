#include "formats/onnx/metadata.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace xsp::formats {
namespace {

TEST(Metadata, IsReadBesideTheGraph) {
  const std::string path = testing::TempDir() + "metadata.onnx";
  // ir_version 8; metadata_props {key: "a", value: "x\ny"}; metadata_props {key: "b"}.
  const std::string bytes(
      "\x08\x08\x72\x08\x0a\x01"
      "a\x12\x03x\ny\x72\x03\x0a\x01"
      "b",
      17);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto texts = read_metadata(path);
  ASSERT_TRUE(texts.ok()) << texts.error().text;
  EXPECT_EQ(*texts, (std::map<std::string, std::string>{{"a", "x\ny"}, {"b", ""}}));
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_FALSE(read_metadata(path).ok());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace xsp::formats
