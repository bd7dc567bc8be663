// Tests which evaluations may be compared.
#include "desk/catalogue/fair.h"

#include <gtest/gtest.h>

namespace xsp::catalogue {
namespace {

Known made(const std::string& framework, const std::string& kernel = "Linux 6.1") {
  Known one;
  one.model = "resnet50";
  one.framework = framework;
  one.scenario = "profile";
  one.device = "cpu";
  one.batch = 1;
  one.system_facts = {{"machine.cpu", "EPYC"}, {"machine.kernel", kernel}};
  one.fingerprint = fingerprint_of(one.system_facts);
  one.facts = {{"input.data", "float32[1,3,224,224]"}, {"threads", "2"}};
  return one;
}

TEST(Fair, FrameworksOfOneMachineMayBeComparedWhateverTheyCallTheirInputs) {
  Known other = made("torch 2.1");
  other.facts = {{"input.x", "float32[1,3,224,224]"},
                 {"threads", "4"},
                 {"option.a", "1"},
                 {"model_bytes", "7"}};
  EXPECT_TRUE(unasked_differences(made("onnxruntime 1.31"), other, Over::kFramework).empty());
  const auto systems = unasked_differences(made("onnxruntime 1.31"), other, Over::kSystem);
  ASSERT_EQ(systems.size(), 3u);
  EXPECT_EQ(systems[0], "framework: onnxruntime 1.31, torch 2.1");
  EXPECT_EQ(systems[2], "threads: 2, 4");
}

TEST(Fair, AnotherMachineInputOrBatchIsNamed) {
  Known other = made("torch 2.1", "Linux 6.12");
  other.facts["input.data"] = "float32[1,3,299,299]";
  other.batch = 2;
  const auto differences = unasked_differences(made("onnxruntime 1.31"), other, Over::kFramework);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0], "batch: 1, 2");
  EXPECT_EQ(differences[1], "machine.kernel: Linux 6.1, Linux 6.12");
  EXPECT_EQ(differences[2], "inputs: float32[1,3,224,224], float32[1,3,299,299]");
}

TEST(Fair, AnInputOfOneSegmentIsFilledInByFrameworksWithoutIt) {
  Known other = made("torch 2.1");
  other.facts["input.segments"] = "int64[1,128]";
  EXPECT_EQ(unasked_differences(made("onnxruntime 1.31"), other, Over::kFramework).size(), 1u);
  other.facts["input_values.segments"] = "0, as of one segment";
  EXPECT_TRUE(unasked_differences(made("onnxruntime 1.31"), other, Over::kFramework).empty());
}

TEST(Fair, OfSeveralEvaluationsTheFairPairIsTaken) {
  const std::vector<Known> all = {made("a", "Linux 6.12"), made("a"), made("b")};
  const std::vector<Pair> pairs = pairs_over(all, Over::kFramework);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_TRUE(pairs[0].refused.empty());
  EXPECT_EQ(pairs[0].a, &all[1]);
  EXPECT_EQ(pairs[0].b, &all[2]);
  // Nothing but the system may differ, and here nothing else does.
  const std::vector<Pair> systems = pairs_over({all[0], all[1]}, Over::kSystem);
  ASSERT_EQ(systems.size(), 1u);
  EXPECT_TRUE(systems[0].refused.empty());
}

TEST(Fair, AFingerprintFollowsFromTheFacts) {
  EXPECT_EQ(made("a").fingerprint, made("b").fingerprint);
  EXPECT_NE(made("a").fingerprint, made("a", "Linux 6.12").fingerprint);
  EXPECT_EQ(made("a").fingerprint.size(), 16u);
}

}  // namespace
}  // namespace xsp::catalogue
