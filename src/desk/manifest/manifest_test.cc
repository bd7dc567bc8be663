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

constexpr const char* kFamily = R"(version: 1.0.0
task: classification
framework: {name: torch}
inputs:
  - name: input
    dtype: float32
models:
  - name: small
    model: {export: torchvision/small}
    size: {parameters: 1000, macs: 2000}
  - name: large
    version: 2.0.0
    model: {export: torchvision/large}
    literature: {parameters: 6700000000, gmacs: 4.09, source: a table, note: it counts more}
)";

TEST(Manifest, AFamilySharesItsFields) {
  const auto family = parse_manifests(kFamily, "family.yaml");
  ASSERT_TRUE(family.ok()) << family.error().text;
  ASSERT_EQ(family->size(), 2u);
  const Manifest& small = (*family)[0];
  const Manifest& large = (*family)[1];
  EXPECT_EQ(small.name, "small");
  EXPECT_EQ(small.version, "1.0.0");
  EXPECT_EQ(small.model.place, "torchvision/small");
  EXPECT_EQ(small.model.framework, "torch");
  EXPECT_EQ(small.inputs.size(), 1u);
  EXPECT_EQ(small.size->parameters, 1000);
  EXPECT_EQ(small.size->macs, 2000);
  EXPECT_FALSE(small.literature);
  EXPECT_EQ(large.version, "2.0.0");
  EXPECT_EQ(large.inputs[0].dtype, "float32");
  EXPECT_EQ(large.literature->parameters, 6700000000);
  EXPECT_EQ(large.literature->gmacs, 4.09);
  EXPECT_EQ(large.literature->note, "it counts more");
  EXPECT_EQ(large.place_of("model"), "family.yaml:13: model");
  EXPECT_EQ(large.place_of("inputs[0].dtype"), "family.yaml:6: inputs[0].dtype");
  EXPECT_EQ(parse_manifest(kFamily, "family.yaml").error().text,
            "family.yaml: it describes 2 models: add its folder to XSP_MANIFESTS, and name one of "
            "them, such as small");
}

// Returns all faults of the family in which a text is replaced.
std::string faults_with(const std::string& from, const std::string& to) {
  std::string text = kFamily;
  text.replace(text.find(from), from.size(), to);
  std::string faults;
  const auto found = find_faults(text, "f.yaml");
  if (!found.ok()) return found.error().text;
  for (const Fault& fault : *found) faults += fault_text(fault, "f.yaml") + "\n";
  return faults;
}

TEST(Manifest, FaultsOfAFamilyAreToldOnce) {
  EXPECT_EQ(faults_with("small", "small"), "");
  EXPECT_EQ(faults_with("float32", "flaot32"),
            "f.yaml:6: inputs[0].dtype: 'flaot32' is not a data type: did you mean 'float32'?\n");
  EXPECT_EQ(faults_with("task: classification\n", ""),
            "f.yaml:7: 'task' is missing: write 'task: classification'\n"
            "f.yaml:10: 'task' is missing: write 'task: classification'\n");
  EXPECT_EQ(faults_with("name: large", "name: small"),
            "f.yaml:11: models[1].name: 'small' stands already in line 8: give each model a name "
            "of its own\n");
  EXPECT_EQ(faults_with("parameters: 1000", "parameters: 0.5"),
            "f.yaml:10: size.parameters: '0.5' is not a whole number: write one like 25557032\n");
  EXPECT_EQ(find_faults("name: a\nmodels: []\n", "f.yaml")->at(0).text,
            "it is not a list of 1 to 200 models: write one like [{name: resnet34, model: {zoo: "
            "resnet34}}]");
  EXPECT_EQ(find_faults("models: [{task: a}]\n", "f.yaml")->at(0).text,
            "it has no name: write one like {name: resnet34}");
}

}  // namespace
}  // namespace xsp::manifest
