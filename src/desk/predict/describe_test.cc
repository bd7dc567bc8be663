#include "desk/predict/describe.h"

#include <gtest/gtest.h>

#include <string>

namespace xsp::predict {
namespace {

// `input` and `output` are the rest of the maps of the one input and the one output.
Result<Described> described(const std::string& input, const std::string& output) {
  const std::string text =
      "name: m\nversion: 1.0.0\nmodel: {path: m.onnx}\ntask: classification\nlicense: MIT\n"
      "inputs: [{name: x, from: bytes, " +
      input + "}]\noutputs: [{name: y, " + output + "}]\n";
  XSP_TRY(const manifest::Manifest manifest, manifest::parse_manifest(text, "m.yaml"));
  return describe(manifest);
}

TEST(Describe, FindsTheBatchDimensionAndThePlaces) {
  const auto result =
      described("dtype: int32, dimensions: [8, N], steps: [byte_window: {begin: 8}]",
                "dtype: float32, dimensions: [2], steps: [top]");
  ASSERT_TRUE(result.ok()) << result.error().text;
  ASSERT_EQ(result->description.inputs.size(), 1u);
  EXPECT_EQ(result->description.inputs[0].batch_axis, 1);
  EXPECT_EQ(result->description.inputs[0].steps[0].place, "m.yaml:6: inputs[0].steps[0]");
  EXPECT_EQ(result->description.inputs[0].steps[0].params.at("begin"), "8");
  EXPECT_EQ(result->description.outputs[0].batch_axis, -1);
  const auto untold = described("steps: [byte_window: {begin: 8}]", "steps: [top]");
  ASSERT_TRUE(untold.ok()) << untold.error().text;
  EXPECT_EQ(untold->description.inputs[0].batch_axis, 0);
}

TEST(Describe, AnOutputConsistsOfWindowsIfAnInputDoes) {
  const std::string input =
      "dtype: float32, dimensions: [N, 8], steps: [decode_wav, resample: {rate: 8000}, "
      "audio_frames: {size: 8}]";
  const std::string output = "dtype: float32, dimensions: [N, 1], steps: ";
  const auto result = described(input, output + "[threshold: 0.5]");
  ASSERT_TRUE(result.ok()) << result.error().text;
  EXPECT_EQ(described(input, output + "[top]").error().text,
            "m.yaml:7: outputs[0].steps[0]: the model gives windows of float32[1], top wants a "
            "tensor of scores");
}

TEST(Describe, RefusesStepsThatDoNotSuitTheManifest) {
  const auto wrong = described("dtype: int32, dimensions: [N, 9], steps: [byte_window: {begin: 8}]",
                               "steps: [top]");
  EXPECT_EQ(wrong.error().text,
            "m.yaml:6: inputs[0]: its steps give int32[8], the model wants int32[9] for each "
            "request: change the dimensions");
  EXPECT_EQ(described("dtype: int32", "steps: [top]").error().text,
            "m.yaml:6: inputs[0]: it has no steps: say how a request becomes 'x'");
  EXPECT_EQ(described("steps: [byte_window: {begin: 8}]", "dtype: float32").error().text,
            "m.yaml:7: outputs: none has steps: say how an answer is made, such as steps: [top]");
  const auto output = described("steps: [byte_window: {begin: 8}]",
                                "dtype: float32, dimensions: [N, 3], steps: [top, top]");
  EXPECT_EQ(output.error().text,
            "m.yaml:7: outputs[0].steps[1]: top gives a ranking, top wants a tensor of scores");
}

TEST(StepFaults, AreAllToldAndNoneOfAManifestWithoutSteps) {
  const std::string text =
      "name: m\nversion: 1.0.0\nmodel: {path: m.onnx}\ntask: classification\nlicense: MIT\n";
  const auto faults_of = [&](const std::string& more) {
    std::vector<std::string> texts;
    const auto manifest = manifest::parse_manifest(text + more, "m.yaml");
    EXPECT_TRUE(manifest.ok()) << manifest.error().text;
    if (!manifest.ok()) return texts;
    for (const Error& fault : step_faults(*manifest)) texts.push_back(fault.text);
    return texts;
  };
  EXPECT_TRUE(faults_of("inputs: [{name: x, dtype: float32, dimensions: [N, 3]}]\n").empty());
  const auto both = faults_of(
      "inputs: [{name: x, from: bytes, steps: [byte_windw]}]\n"
      "outputs: [{name: y, steps: [top, {softmax: {axis: 1}}]}]\n");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0],
            "m.yaml:6: inputs[0].steps[0]: 'byte_windw' is no step: did you mean 'byte_window'?");
  EXPECT_TRUE(both[1].starts_with("m.yaml:7: outputs[0].steps[1]: softmax: ")) << both[1];
  // A tokeniser that must be fetched is known by its name alone.
  const std::string sum(64, '0');
  const auto fetched = faults_of(
      "inputs: [{name: x, from: text, steps: [tokens: {model: {url: 'http://h/t', sha256: " + sum +
      "}}]}]\noutputs: [{name: y, steps: [tp]}]\n");
  ASSERT_EQ(fetched.size(), 1u) << fetched[0];
  EXPECT_NE(fetched[0].find("'tp' is no step"), std::string::npos);
}

}  // namespace
}  // namespace xsp::predict
