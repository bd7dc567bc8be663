#include "desk/manifest/import.h"

#include <gtest/gtest.h>

#include "desk/manifest/manifest.h"

namespace xsp::manifest {
namespace {

constexpr const char* kOlder = R"(name: Small Net
framework:
  name: MXNet
  version: ^1.0.0
version: 1.0
description: A "small" net.
references:
  - https://example.org/paper
license: unrestricted
inputs:
  - type: image
    parameters:
      input_layer: data
      element_type: float32
      dimensions: [3, 224, 200]
      mean: [123, 117, 104]
      scale: 58.8
      color_layout: BGR
output:
  type: feature
  parameters:
    output_layer: prob
    labels_url: https://example.org/synset.txt
model:
  base_url: https://example.org/models
  graph_path: small-symbol.json
  weights_path: small-0000.params
preprocess: |
  def f(x): return x
attributes:
  kind: CNN
)";

TEST(Import, MapsWhatMapsAndSaysWhatDoesNot) {
  const auto imported = import_dlmodel(kOlder, "old.yml");
  ASSERT_TRUE(imported.ok()) << imported.error().text;
  const auto manifest = parse_manifest(imported->text, "new.yaml");
  ASSERT_TRUE(manifest.ok()) << manifest.error().text << "\n" << imported->text;
  EXPECT_EQ(manifest->name, "Small_Net");
  EXPECT_EQ(manifest->version, "1.0.0");
  EXPECT_EQ(manifest->framework->name, "mxnet");
  EXPECT_EQ(manifest->framework->version, "^1.0.0");
  EXPECT_EQ(manifest->description, "A \"small\" net.");
  EXPECT_EQ(manifest->model.place, "small-0000.params");
  const Pipeline& input = manifest->inputs.at(0).pipeline;
  EXPECT_EQ(input.name, "data");
  ASSERT_EQ(input.steps.size(), 5u);
  EXPECT_EQ(input.steps[1].params.at("to"), "bgr");
  EXPECT_EQ(input.steps[2].params.at("width"), "200");
  EXPECT_EQ(input.steps[3].params.at("mean"), "123,117,104");
  EXPECT_EQ(input.steps[3].params.at("std"), "58.8,58.8,58.8");
  EXPECT_EQ(manifest->outputs.at(0).labels->source->place, "synset.txt");
  EXPECT_EQ(manifest->attributes.size(), 2u);
  EXPECT_NE(std::find(imported->notes.begin(), imported->notes.end(),
                      "old.yml:28: preprocess: it has no counterpart: it is left out"),
            imported->notes.end());
}

TEST(Import, KeepsAUrlWithItsSum) {
  const std::string sum(64, 'a');
  const auto imported = import_dlmodel(
      "name: a\nversion: 1.0.0\nmodel: {base_url: 'https://example.org', graph_path: "
      "a.onnx, graph_checksum: " +
          sum + "}\n",
      "old.yml");
  ASSERT_TRUE(imported.ok()) << imported.error().text;
  const auto manifest = parse_manifest(imported->text, "new.yaml");
  EXPECT_EQ(manifest->model.place, "https://example.org/a.onnx");
  EXPECT_EQ(manifest->model.sha256, sum);
}

TEST(Import, RefusesWhatIsNoManifest) {
  EXPECT_EQ(import_dlmodel("a: 1\n", "old.yml").error().code, Code::kCorrupt);
  EXPECT_FALSE(import_dlmodel("[1, 2]", "old.yml").ok());
}

}  // namespace
}  // namespace xsp::manifest
