// Tests the adapter `torch`, beyond the requirements on every adapter: names, facts, signatures,
// options, errors.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "one_adapter.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

class TorchTest : public OneAdapter {
 protected:
  TorchTest() : OneAdapter("torch", "torch") {
    // LeakSanitizer crashes on the threads that libgomp keeps.
    setenv("OMP_NUM_THREADS", "1", 0);
  }

  // Returns the number of spans that are neither a model nor a layer, after these commands.
  size_t others_after(const Fields& commands) {
    WorkerProcess worker(arguments("tiny.pt", {}, "model,layer,api"));
    worker.reply();
    for (const std::string& command : commands) {
      worker.send(command);
      worker.reply();
    }
    for (const char* command : {"flush", "quit"}) {
      worker.send(command);
      worker.reply();
    }
    EXPECT_EQ(worker.wait(), 0);
    return read_trace(worker.trace()).others;
  }
};

TEST_F(TorchTest, LayersAreNamedByModuleAndOperatorInEveryRun) {
  constexpr size_t kRuns = 6;  // the first ones are studied, the others only recognised
  const TraceFile file = traced("tiny.pt", {"--batch", "2"}, kRuns);
  const std::vector<std::string> once = {"layer1/conv1/conv2d",
                                         "layer1/relu",
                                         "layer1/conv2/conv2d",
                                         "layer1/add",
                                         "layer1/relu#2",
                                         "layer2/conv1/conv2d",
                                         "layer2/relu",
                                         "layer2/conv2/conv2d",
                                         "layer2/add",
                                         "layer2/relu#2",
                                         "mean",
                                         "t",
                                         "matmul"};
  ASSERT_EQ(file.layers.size(), kRuns * once.size());
  // The executor may reorder independent operators, but each run has each layer once.
  const std::multiset<std::string> expected(once.begin(), once.end());
  for (size_t run = 0; run < kRuns; ++run) {
    std::multiset<std::string> names;
    for (size_t i = 0; i < once.size(); ++i) {
      names.insert(file.layers[run * once.size() + i].site.name);
    }
    EXPECT_EQ(names, expected) << run;
  }
}

TEST_F(TorchTest, AFunctionOfAModuleIsNoModule) {
  const TraceFile file = traced("calling.pt", {}, 1);
  ASSERT_EQ(file.layers.size(), 1u);
  EXPECT_EQ(file.layers[0].site.name, "inner/sin");
}

TEST_F(TorchTest, AListOfModulesIsInTheName) {
  const TraceFile file = traced("listing.pt", {}, 1);
  ASSERT_EQ(file.layers.size(), 1u);
  EXPECT_EQ(file.layers[0].site.name, "layer/1/inner/sin");
}

TEST_F(TorchTest, LayersSayWhatTheyReadAndGive) {
  const TraceFile file = traced("tiny.pt", {"--batch", "2"}, 4);
  ASSERT_FALSE(file.layers.empty());
  std::map<std::string, trace::Site> sites;
  for (const Span& layer : file.layers) sites[layer.site.name] = layer.site;
  const trace::Site& conv = sites["layer1/conv1/conv2d"];
  EXPECT_EQ(conv.type, "aten::conv2d");
  EXPECT_EQ(attribute(conv, "input_shapes"), "[[2,3,8,8],[4,3,3,3]]");
  EXPECT_EQ(attribute(conv, "output_shapes"), "[[2,4,8,8]]");
  EXPECT_EQ(attribute(conv, "input_dtypes"), "[\"float32\",\"float32\"]");
  EXPECT_EQ(counter(conv, "activation_bytes"), 2 * 3 * 8 * 8 * 4);
  EXPECT_EQ(counter(conv, "parameter_bytes"), 4 * 3 * 3 * 3 * 4);
  EXPECT_EQ(counter(conv, "output_bytes"), 2 * 4 * 8 * 8 * 4);
  EXPECT_EQ(counter(conv, "allocated_bytes"), 2 * 4 * 8 * 8 * 4);
  // A view of weights counts as weights.
  EXPECT_EQ(counter(sites["matmul"], "parameter_bytes"), 8 * 10 * 4);
}

TEST_F(TorchTest, NestedLayersLieInTheirs) {
  const TraceFile file = traced("tiny.pt", {"--batch", "2", "--option", "nested=1"}, 5);
  size_t outer = 0, inner = 0;
  for (size_t i = 0; i < file.layers.size(); ++i) {
    if (file.layers[i].site.type == "aten::conv2d") ++outer;
    if (file.layers[i].site.type != "aten::convolution") continue;
    ++inner;
    ASSERT_GT(i, 0u);
    EXPECT_TRUE(file.layers[i - 1].holds(file.layers[i]));
  }
  EXPECT_EQ(outer, 5u * 4);
  EXPECT_EQ(inner, 5u * 4);
}

TEST_F(TorchTest, AllocationsAreRecordedInTheFirstThreeMeasuredInferences) {
  EXPECT_EQ(others_after({"warm\t6"}), 0u);
  const size_t once = others_after({"warm\t6", "run\t1"});
  EXPECT_GT(once, 10u);  // each layer's results, and their release
  const size_t thrice = others_after({"warm\t6", "run\t3"});
  EXPECT_GT(thrice, 2 * once);
  // Torch itself may allocate or release memory between two commands. Eight more recorded
  // inferences would add eight times `once`.
  const size_t later = others_after({"warm\t6", "run\t2", "run\t1", "warm\t2", "run\t8"});
  EXPECT_GE(later + 2, thrice);
  EXPECT_LE(later, thrice + 2);
}

TEST_F(TorchTest, BranchesRunAndDictionariesAreNamed) {
  const TraceFile file = traced("branching.pt", {}, 3);
  EXPECT_EQ(file.lost, 0u);
  EXPECT_GE(file.layers.size(), 3u * 4);
  for (const Span& layer : file.layers) EXPECT_EQ(layer.site.type.rfind("aten::", 0), 0u);
}

TEST_F(TorchTest, OptionsRunAndGiveLayers) {
  for (const char* option : {"freeze=1", "channels_last=1", "optimize_for_inference=1"}) {
    const TraceFile file = traced("tiny.pt", {"--option", option}, 4);
    EXPECT_GE(file.layers.size(), 4u * 10) << option;
  }
}

TEST_F(TorchTest, TheFuserIsAChoice) {
  for (const auto& [option, setting] : {std::pair{"fuser=0", "false"}, {"fuser=1", "true"}}) {
    const TraceFile file = traced("tiny.pt", {"--option", option}, 2);
    ASSERT_FALSE(file.models.empty()) << option;
    EXPECT_EQ(attribute(file.models.front().site, "setting.torchscript_fuser"), setting);
  }
  EXPECT_NE(failure("tiny.pt", {"--option", "fuser=2"}).find("give 0 or 1"), std::string::npos);
}

TEST_F(TorchTest, ASignatureMayBeGiven) {
  const std::string absent = failure("unsigned.pt");
  EXPECT_NE(absent.find("--input image=1x3x224x224"), std::string::npos) << absent;
  EXPECT_EQ(traced("unsigned.pt", {"--input", "image=1x3x8x8"}, 1).layers.size(), 13u);
  EXPECT_EQ(traced("unsigned.pt", {"--input", "image=batchx3x8x8"}, 1).layers.size(), 13u);
  const std::string signature = "signature=input image float32 batch,3,8,8";
  const TraceFile file = traced("unsigned.pt", {"--option", signature}, 1);
  EXPECT_EQ(file.layers.size(), 13u);
}

TEST_F(TorchTest, OperatorsOfALibraryOfTheirOwn) {
  const std::string found = failure("custom.pt");
  EXPECT_EQ(found.rfind("failed 4", 0), 0u) << found;
  EXPECT_NE(found.find("needs the operator xsp_test::twice"), std::string::npos) << found;
  EXPECT_NE(found.find("--option library=FILE"), std::string::npos) << found;
  const std::string absent = failure("custom.pt", {"--option", "library=/nowhere.so"});
  EXPECT_NE(absent.find("/nowhere.so: cannot be loaded"), std::string::npos) << absent;
  const std::string library = bin_folder().string() + "/../tests/torch_test_operators.so";
  const TraceFile file = traced("custom.pt", {"--option", "library=" + library}, 2);
  ASSERT_EQ(file.layers.size(), 4u);
  EXPECT_EQ(file.layers[0].site.type, "xsp_test::twice");
}

TEST_F(TorchTest, FailuresSayWhatIsWrong) {
  const auto expect = [](const std::string& found, const std::string& status,
                         const std::string& part) {
    EXPECT_EQ(found.rfind("failed " + status, 0), 0u) << found;
    EXPECT_NE(found.find(part), std::string::npos) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  };
  expect(failure("failing.pt", {"--batch", "2"}), "1", "run: ");
  expect(failure("hungry.pt"), "5", "out of memory");
  expect(failure("truncated.pt"), "2", "truncated.pt: ");
  expect(failure("bad_signature.pt"), "2", "float33");
  expect(failure("tiny.pt", {"--option", "freeze=maybe"}), "1", "give 0 or 1");
  expect(failure("tiny.pt", {"--option", "cuda_graph=1"}), "4", "--device cuda");
  expect(failure("make_files.cc"), "2", "neither TorchScript nor");
  expect(failure("."), "2", ": it is a folder: name a .pt or .pt2 file in it");
  expect(failure("absent.pt"), "2", "absent.pt: there is no such file: give a .pt or .pt2 file");
}

}  // namespace
}  // namespace xsp::contract
