// Tests the step python with real processes.
#include <cstdlib>
#include <fstream>

#include "pipelines/shared/testing.h"
#include "shared/base/scratch.h"

namespace xsp::pipelines {
namespace {

constexpr const char* kFile = R"(
import sys, time
calls = 0
def double(array):
    print("not an answer")
    return array * 2
def count(array):
    global calls
    calls += 1
    return array + calls
def halves(array):
    return (array / 2).astype("float64")
def fails(array):
    raise ValueError("a\nbad value")
def sleeps(array):
    time.sleep(60)
def ends(array):
    sys.stdout.flush()
    import os
    os._exit(3)
def hoards(array):
    return len(bytearray(8 << 30)) + array
)";

class PythonStep : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) {
      GTEST_SKIP() << "python3 has no numpy";
    }
    auto folder = ScratchFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_ = std::move(*folder);
    std::ofstream(folder_->path() / "steps.py") << kFile;
  }
  std::string place(const std::string& function) const {
    return (folder_->path() / "steps.py").string() + ":" + function;
  }
  static Value numbers() { return tensor_value<float>(XSP_FLOAT32, {1, 2}, {1, 2}); }
  std::string error_of(const Params& params) const {
    const Result<Value> result = run_step("python", params, numbers());
    return result.ok() ? "no error" : result.error().text;
  }

  std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(PythonStep, AnswersWithAnArray) {
  EXPECT_EQ(numbers_of<float>(run_step("python", {{"value", place("double")}}, numbers())),
            (std::vector<float>{2, 4}));
  const Params params = {{"value", place("halves")}, {"dtype", "float64"}, {"dimensions", "-1,2"}};
  EXPECT_EQ(numbers_of<double>(run_step("python", params, numbers())),
            (std::vector<double>{0.5, 1}));
}

TEST_F(PythonStep, KeepsItsProcess) {
  const auto pipeline = pipeline_of("python", {{"value", place("count")}}, numbers().type);
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text;
  EXPECT_EQ(numbers_of<float>(pipeline->run(numbers(), {}))[0], 2);
  EXPECT_EQ(numbers_of<float>(pipeline->run(numbers(), {}))[0], 3);
}

TEST_F(PythonStep, TellsWhyItFails) {
  const std::string begin = "m.yaml:4: inputs[0].steps[0]: python: ";
  EXPECT_EQ(error_of({{"value", place("fails")}}), begin + "fails: ValueError: a bad value");
  EXPECT_EQ(error_of({{"value", place("ends")}}),
            begin + "ends: its process ended: see what it wrote");
  EXPECT_EQ(
      error_of({{"value", place("halves")}}),
      begin + "halves gives float64[1,2], the manifest says float32[1,2]: change one of them");
  EXPECT_NE(error_of({{"value", place("nothing")}}).find("AttributeError"), std::string::npos);
}

TEST_F(PythonStep, IsBounded) {
  EXPECT_NE(error_of({{"value", place("sleeps")}, {"seconds", "1"}}).find("no answer in 1 s"),
            std::string::npos);
  EXPECT_NE(error_of({{"value", place("hoards")}, {"memory", "2048"}}).find("MemoryError"),
            std::string::npos);
}

TEST_F(PythonStep, GoesOnInANewProcess) {
  const auto pipeline =
      pipeline_of("python", {{"value", place("sleeps")}, {"seconds", "1"}}, numbers().type);
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text;
  EXPECT_FALSE(pipeline->run(numbers(), {}).ok());
  std::ofstream(folder_->path() / "steps.py") << "def sleeps(array):\n    return array\n";
  EXPECT_EQ(numbers_of<float>(pipeline->run(numbers(), {})), (std::vector<float>{1, 2}));
}

TEST_F(PythonStep, IsCheckedBeforeItRuns) {
  EXPECT_EQ(refusal(pipeline_of("python", {{"value", "/none.py:f"}}, numbers().type)),
            "python: value '/none.py:f': no such file: its path is relative to the manifest's "
            "folder");
  EXPECT_EQ(refusal(pipeline_of("python", {{"value", "double"}}, numbers().type)),
            "python: value 'double': no function of a file: write FILE.py:FUNCTION");
}

}  // namespace
}  // namespace xsp::pipelines
