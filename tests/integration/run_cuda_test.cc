// Tests xsp run of a program that uses CUDA, on a fake driver and a fake CUPTI, without a GPU
// (collectors/cupti/fake/program.cc).
#include <cstdlib>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class RunCudaTest : public WatchedTest {
 protected:
  Finished watch(const std::vector<std::string>& words, const std::string& levels = "all",
                 const std::map<std::string, std::string>& environment = {}) const {
    std::vector<std::string> arguments = {"run", "--leveled=no", "--levels", levels,
                                          "-o",  "t.xsp",        "--"};
    arguments.push_back(places::build("tests/fake_cuda/fake_cuda_program"));
    arguments.insert(arguments.end(), words.begin(), words.end());
    RunOptions options;
    options.environment = environment;
    return run(arguments, options);
  }
  nlohmann::json spans_of(int level) const {
    return scalar("t.xsp", "SELECT count(*) FROM span WHERE level = " + std::to_string(level));
  }
  nlohmann::json fact(const std::string& key) const {
    return scalar("t.xsp", "SELECT value FROM evaluation WHERE key = '" + key + "'");
  }
};

TEST_F(RunCudaTest, KernelsHangUnderTheirLaunchesAndTheseUnderTheLayers) {
  const Finished finished = watch({"launch", "launch", "launch"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "3 launches\n");
  const auto kernels =
      query("t.xsp",
            "SELECT k.name, k.device, l.name AS launch, s.name AS layer, k.layer_id = s.span_id "
            "  AS is_in_layer, p.type AS process "
            "FROM span k JOIN span l ON l.span_id = k.parent_id "
            "JOIN span s ON s.span_id = l.parent_id JOIN span p ON p.span_id = s.parent_id "
            "WHERE k.level = 6");
  ASSERT_EQ(kernels.size(), 3u) << kernels;
  for (const auto& kernel : kernels) {
    EXPECT_EQ(kernel["name"], "axpy");
    EXPECT_EQ(kernel["device"], 0);
    EXPECT_EQ(kernel["launch"], "cudaLaunchKernel");
    EXPECT_EQ(kernel["layer"], "step");
    EXPECT_EQ(kernel["is_in_layer"], true);
    EXPECT_EQ(kernel["process"], "process");
  }
  EXPECT_EQ(scalar("t.xsp", "SELECT device FROM run"), "cuda:0");
  EXPECT_EQ(fact("device"), "cuda:0");
  EXPECT_EQ(fact("not_measured.kernel"), nullptr);
  EXPECT_EQ(scalar("t.xsp", "SELECT levels LIKE '%,api,kernel' FROM run"), true);
}

TEST_F(RunCudaTest, OnlyTheLevelsAskedForAreRecorded) {
  ASSERT_EQ(watch({"launch"}, "layer,kernel").status, 0);
  EXPECT_EQ(spans_of(5), 0);
  EXPECT_EQ(spans_of(6), 1);
  ASSERT_EQ(watch({"launch"}, "layer").status, 0);
  EXPECT_EQ(spans_of(3), 1);
  EXPECT_EQ(spans_of(6), 0);
  EXPECT_EQ(fact("not_measured.kernel"), nullptr) << "nobody asked for it";
}

TEST_F(RunCudaTest, AProgramWithoutCudaHasNoKernelLevelAndIsToldWhy) {
  ASSERT_EQ(watch({}).status, 0);
  EXPECT_EQ(fact("not_measured.kernel"), "no process of the command used CUDA");
  EXPECT_EQ(fact("not_measured.api"), "no process of the command used CUDA");
  EXPECT_EQ(scalar("t.xsp", "SELECT levels FROM run"), "application,model,layer,library");
  EXPECT_EQ(scalar("t.xsp", "SELECT device FROM run"), nullptr);
}

// Process 1 computes on the GPU for 60 % of the time.
TEST_F(RunCudaTest, ANeighbourOnTheGpuIsTold) {
  RunOptions options;
  options.environment = {{"LD_LIBRARY_PATH", places::build("tests/fake_gpu")},
                         {"FAKE_NVML_NEIGHBOUR", "1"}};
  const Finished finished =
      run({"run", "--leveled=no", "-o", "t.xsp", "--", "sleep", "6"}, options);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(fact("gpu.other_load_pct"), "60.00");
  const auto names = fact("gpu.other_programs");
  ASSERT_TRUE(names.is_string());
  EXPECT_TRUE(names.get<std::string>().ends_with(" 1")) << names;
  options.environment.erase("FAKE_NVML_NEIGHBOUR");
  ASSERT_EQ(run({"run", "--leveled=no", "-o", "t.xsp", "--", "sleep", "6"}, options).status, 0);
  EXPECT_EQ(fact("gpu.other_load_pct"), "0.00");
  EXPECT_EQ(fact("gpu.other_programs"), nullptr);
}

TEST_F(RunCudaTest, HoweverTheProgramEndsWhatWasCompleteIsThere) {
  struct Case {
    std::vector<std::string> words;
    int status;
    int kernels;
  };
  // A process that is killed may lose the last quarter of a second.
  const Case cases[] = {
      {{"launch", "launch", "_exit"}, 0, 2},
      {{"launch", "exit1"}, 1, 1},
      {{"launch", "exec"}, 0, 1},
      {{"launch", "close", "launch"}, 0, 2},
      {{"launch", "fork", "launch"}, 0, 2},
      {{"launch", "fork", "launch", "_exit"}, 0, 2},
      {{"launch", "wait", "crash"}, 128 + 11, 1},
      {{"launch", "wait", "kill"}, 128 + 9, 1},
  };
  for (const Case& one : cases) {
    const Finished finished = watch(one.words);
    const std::string last = one.words.back();
    EXPECT_EQ(finished.status, one.status) << last << ": " << finished.err;
    EXPECT_EQ(scalar("t.xsp",
                     "SELECT concat(count(*) FILTER (level = 5), ' ', count(*) FILTER (level = 6)) "
                     "FROM span"),
              std::to_string(one.kernels) + " " + std::to_string(one.kernels))
        << last;
  }
}

TEST_F(RunCudaTest, AnotherToolsInjectionLibraryIsCalledAsBefore) {
  const std::string source = (folder / "tool.c").string();
  const std::string tool = (folder / "tool.so").string();
  std::FILE* file = std::fopen(source.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("#include <stdio.h>\nint InitializeInjection(void) { return puts(\"tool\"); }\n",
             file);
  std::fclose(file);
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + tool + " " + source).c_str()), 0);
  const Finished finished = watch({"launch"}, "all", {{"CUDA_INJECTION64_PATH", tool}});
  EXPECT_EQ(finished.out, "tool\n1 launches\n") << finished.err;
  EXPECT_EQ(spans_of(6), 1);
}

TEST_F(RunCudaTest, AProgramThatUsesCuptiItselfGetsItAndThatIsSaid) {
  const Finished finished = watch({"launch", "subscribe", "launch"});
  EXPECT_EQ(finished.out, "subscribed 0\n2 launches\n") << finished.err;
  EXPECT_EQ(spans_of(6), 1) << "until then";
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM evaluation WHERE key LIKE 'note.%' AND value LIKE "
                   "'%recorded until fake_cuda_program uses CUPTI itself%'"),
            1);
  // The program is recorded from its beginning.
  EXPECT_EQ(watch({"subscribe", "launch"}).out, "subscribed 0\n1 launches\n");
  EXPECT_EQ(spans_of(6), 0);
}

TEST_F(RunCudaTest, OfSomeStepsTheKernelsOfThoseAloneAreRecorded) {
  const std::vector<std::string> arguments = {"run",
                                              "--steps",
                                              "1:3",
                                              "-o",
                                              "t.xsp",
                                              "--",
                                              places::build("tests/fake_cuda/fake_cuda_program"),
                                              "launch",
                                              "step",
                                              "launch",
                                              "step",
                                              "launch",
                                              "step",
                                              "launch",
                                              "step",
                                              "launch"};
  const Finished finished = run(arguments);
  EXPECT_EQ(finished.out, "5 launches\n") << finished.err;
  EXPECT_EQ(spans_of(6), 2);
  EXPECT_EQ(spans_of(5), 2);
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT count(*) FROM span k JOIN span l ON l.span_id = k.parent_id "
                   "WHERE k.level = 6 AND l.name = 'cudaLaunchKernel'"),
            2);
}

TEST_F(RunCudaTest, LeveledRunsEndWhereADeeperOneWouldRecordNothing) {
  const auto runs = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {
        "run",   "--leveled", "-o",
        "t.xsp", "--",        places::build("tests/fake_cuda/fake_cuda_program")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_EQ(run(arguments).status, 0);
    return query("t.xsp", "SELECT levels FROM run ORDER BY run_id");
  };
  EXPECT_EQ(runs({}).size(), 2u);
  const auto with = runs({"launch"});
  ASSERT_EQ(with.size(), 4u) << with;
  EXPECT_EQ(with[3]["levels"], "application,model,layer,api,kernel");
}

}  // namespace
}  // namespace xsp::integration
