#include "desk/manifest/manifest.h"

#include <gtest/gtest.h>

namespace xsp::manifest {
namespace {

constexpr const char* kMagika = R"(# A comment.
name: magika
version: 1.0.3
task: classification
license: Apache-2.0
framework: {name: onnxruntime, version: ">=1.17 <2"}
model:
  package: {name: magika, version: 1.0.3, file: magika/model.onnx}
  sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
hardware: {device: [cpu], memory: 1.5GiB}
inputs:
  - name: bytes
    dtype: int32
    dimensions: [N, 2048]
    from: bytes
    steps:
      - byte_window: {begin: 1024, end: 1024, weights: [0.5, 1]}
      - to_tensor
outputs:
  - name: target_label
    labels: [a, b]
    steps:
      - decode: {table: {path: table.txt}}
expect: {top1: 0.956, tolerance: 0.01}
attributes:
  references: [one, two]
)";

TEST(Manifest, AStepsOnlyParameterMayStandAlone) {
  std::string text = kMagika;
  text.replace(text.find("to_tensor"), 9, "threshold: 0.5");
  const auto manifest = parse_manifest(text, "magika.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text;
  const auto& step = manifest->inputs[0].pipeline.steps[1];
  EXPECT_EQ(step.name, "threshold");
  EXPECT_EQ(step.params.at("value"), "0.5");
}

TEST(Manifest, ReadsEveryField) {
  const auto manifest = parse_manifest(kMagika, "some/magika.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text;
  EXPECT_EQ(manifest->name, "magika");
  EXPECT_EQ(manifest->version, "1.0.3");
  EXPECT_EQ(manifest->framework->version, ">=1.17 <2");
  EXPECT_EQ(manifest->model.kind, Source::Kind::kPackage);
  EXPECT_EQ(manifest->model.place, "magika");
  EXPECT_EQ(manifest->model.member, "magika/model.onnx");
  EXPECT_EQ(manifest->model.sha256.size(), 64u);
  EXPECT_EQ(manifest->hardware->memory_bytes, 3u << 29);
  ASSERT_EQ(manifest->inputs.size(), 1u);
  const Tensor& input = manifest->inputs[0];
  EXPECT_EQ(input.dimensions, (std::vector<std::string>{"N", "2048"}));
  EXPECT_EQ(input.pipeline.from, "bytes");
  ASSERT_EQ(input.pipeline.steps.size(), 2u);
  EXPECT_EQ(input.pipeline.steps[0].name, "byte_window");
  EXPECT_EQ(input.pipeline.steps[0].params.at("weights"), "0.5,1");
  EXPECT_EQ(input.pipeline.steps[0].line, 17);
  EXPECT_EQ(input.pipeline.steps[1].name, "to_tensor");
  ASSERT_EQ(manifest->outputs.size(), 1u);
  EXPECT_EQ(manifest->outputs[0].labels->names.size(), 2u);
  EXPECT_EQ(manifest->outputs[0].pipeline.steps[0].files.at("table").place, "table.txt");
  EXPECT_EQ(manifest->expect.at("top1"), 0.956);
  EXPECT_EQ(manifest->tolerance, 0.01);
  EXPECT_EQ(manifest->attributes[0].second, "one, two");
}

TEST(Manifest, KnowsTheLineOfAField) {
  const auto manifest = parse_manifest(kMagika, "magika.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text;
  EXPECT_EQ(manifest->place_of("inputs[0].steps[1]"), "magika.yaml:18: inputs[0].steps[1]");
  EXPECT_EQ(manifest->place_of("inputs[0].steps[1].scale"),
            "magika.yaml:18: inputs[0].steps[1].scale");
  EXPECT_EQ(manifest->place_of("expect.top1"), "magika.yaml:24: expect.top1");
  EXPECT_EQ(manifest->place_of("nothing"), "magika.yaml:1: nothing");
}

}  // namespace
}  // namespace xsp::manifest
