#include "desk/manifest/schema.h"

#include <gtest/gtest.h>

#include "desk/manifest/manifest.h"

namespace xsp::manifest {
namespace {

constexpr const char* kGood = R"(name: small
version: 1.0.0
task: classification
framework: {name: onnxruntime, version: ">=1.17"}
model: {path: model.onnx}
inputs:
  - name: data
    dtype: float32
    steps: [decode, resize: {width: 224}]
)";

// Returns the first fault of the good manifest in which a text is replaced.
std::string fault_with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  const auto manifest = parse_manifest(text, "m.yaml");
  return manifest.ok() ? "none" : manifest.error().text;
}

TEST(Schema, OursIsUnderstood) {
  EXPECT_TRUE(manifest_schema().is_map());
  EXPECT_EQ(unknown_keywords(manifest_schema()), std::vector<std::string>{});
  const auto other = read_yaml(R"({"properties": {"a": {"not": {}}}})", "other");
  EXPECT_EQ(unknown_keywords(*other), std::vector<std::string>{"not"});
}

// The parser merges a family's fields with those of each model, and checks the result. Other
// readers find the same in the schema.
TEST(Schema, AModelOfAFamilyHasTheFieldsOfAManifest) {
  const Node* fields = manifest_schema().find("properties");
  const Node* member = manifest_schema().find("$defs")->find("member");
  ASSERT_TRUE(fields != nullptr && member != nullptr);
  std::vector<std::string> wanted, found;
  for (const Key& key : fields->keys) {
    if (key.text != "models") wanted.push_back(key.text + " #/properties/" + key.text);
  }
  const Node* own = member->find("properties");
  for (size_t i = 0; i < own->keys.size(); ++i) {
    found.push_back(own->keys[i].text + " " + own->items[i].text_of("$ref"));
  }
  EXPECT_EQ(found, wanted);
}

TEST(Schema, FaultsNameFileLineFieldAndRemedy) {
  EXPECT_EQ(fault_with("small", "small"), "none");
  EXPECT_EQ(fault_with("task:", "taks:"),
            "m.yaml:1: 'task' is missing: write 'task: classification'");
  EXPECT_EQ(fault_with("inputs:", "input:"),
            "m.yaml:6: input: there is no such field: did you mean 'inputs'?");
  EXPECT_EQ(fault_with("1.0.0", "1.0"),
            "m.yaml:2: version: '1.0' is not a semantic version: write one like 1.0.3");
  EXPECT_EQ(fault_with("float32", "flaot32"),
            "m.yaml:8: inputs[0].dtype: 'flaot32' is not a data type: did you mean 'float32'?");
  EXPECT_EQ(fault_with("{path: model.onnx}", "{}"),
            "m.yaml:5: model: none of path, url, package, zoo, export is given: write exactly one "
            "of them");
  EXPECT_EQ(fault_with("path: model.onnx", "path: a, zoo: b"),
            "m.yaml:5: model: path and zoo are given at once: write exactly one of them");
  EXPECT_EQ(fault_with("path: model.onnx", "url: https://a.b/c"),
            "m.yaml:5: model: 'sha256' is missing: write 'sha256: "
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'");
  EXPECT_EQ(fault_with("{path: model.onnx}", "model.onnx"),
            "m.yaml:5: model: 'model.onnx' is not a source of a file: write one like {path: "
            "model.onnx}");
  EXPECT_EQ(fault_with(">=1.17", ">=1,<2"),
            "m.yaml:4: framework.version: '>=1,<2' is no version with an operator: write a space "
            "instead of the comma");
  EXPECT_EQ(fault_with("decode, ", "Decode, "),
            "m.yaml:9: inputs[0].steps[0]: 'Decode' is not the name of a step: write one like "
            "softmax");
  EXPECT_EQ(fault_with("resize: {width: 224}", "{a: , b: }"),
            "m.yaml:9: inputs[0].steps[1]: it has 2 entries: write at most 1");
  EXPECT_EQ(fault_with("  - name: data", "  - name: data\n  - name: data"),
            "m.yaml:8: inputs[1].name: 'data' stands already in line 7: give each tensor once");
}

TEST(Schema, AllFaultsAreFound) {
  const auto faults = find_faults("name: a b\nversion: 1\ncolour: red\n", "m.yaml");
  ASSERT_TRUE(faults.ok());
  ASSERT_EQ(faults->size(), 5u);
  EXPECT_EQ(faults->back().field, "colour");
  EXPECT_EQ(find_faults("[a]", "m.yaml")->at(0).text, "a list is not a manifest: write a manifest");
}

TEST(Yaml, HostileTextIsRefused) {
  const auto error = [](const std::string& text) {
    const auto read = read_yaml(text, "m.yaml");
    return read.ok() ? "none" : read.error().text;
  };
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    std::string list = alias;
    for (int k = 0; k < 8; ++k) list += ", " + alias;
    const std::string name = "a" + std::to_string(i);
    laughs += name + ": &" + name + " [" + list + "]\n";
  }
  EXPECT_EQ(error(laughs),
            "m.yaml:4: it has more than 20000 nodes, with what its aliases repeat: make it "
            "smaller");
  EXPECT_EQ(error(std::string(40, '[') + std::string(40, ']')),
            "m.yaml:1: it is nested more than 32 deep: nest it less");
  EXPECT_NE(error(std::string(100000, '[')), "none");
  EXPECT_NE(error(std::string(100000, '{')), "none");
  EXPECT_EQ(error("a: &a [*a]"),
            "m.yaml:1: an alias stands inside the node that it repeats: write the node out");
  EXPECT_EQ(error("a: 1\nb: 2\na: 3\n"),
            "m.yaml:3: the key 'a' stands twice, first in line 1: remove one");
  EXPECT_EQ(error("a: [1\nb: 2\n").substr(0, 8), "m.yaml:2");
  EXPECT_EQ(error("a: !!python/object:os.system x").substr(0, 17), "m.yaml:1: the tag");
  EXPECT_EQ(error("a: 1\n---\nb: 2\n"),
            "m.yaml: it has several documents: keep what stands before '---'");
  EXPECT_EQ(error(""), "m.yaml:1: it is empty: write 'name: ...'");
  EXPECT_EQ(error(std::string(kYamlBytesMax + 1, 'a')).substr(0, 7), "m.yaml:");
  EXPECT_EQ(error("a: \"\\xff\\x00\"").substr(0, 9), "m.yaml:1:");
}

TEST(Yaml, AnAliasRepeatsItsNode) {
  const auto read = read_yaml("a: &s [x, 1]\nb: *s\n", "m.yaml");
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read->find("b")->items.size(), 2u);
  EXPECT_EQ(read->find("b")->items[1].number(), 1.0);
  EXPECT_FALSE(read_yaml("'1'", "m.yaml")->number());
}

}  // namespace
}  // namespace xsp::manifest
