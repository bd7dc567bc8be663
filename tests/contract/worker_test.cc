// Tests the worker process: its protocol, its traces, and its reports of each kind of failure.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "manifest.h"
#include "process/worker/npy.h"
#include "trace_file.h"
#include "worker_process.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

Fields fake(const std::string& model, const std::string& levels = "model,layer", Fields more = {}) {
  Fields arguments = {"--adapter", adapter_path("fake"), "--model", model, "--levels", levels};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<float> floats(const process::NpyArray& array) {
  std::vector<float> values(array.data.size() / sizeof(float));
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

TEST(Worker, RunsAndTells) {
  WorkerProcess worker(fake("fake:layers=3,us=50,width=4", "model,layer", {"--batch", "2"}));
  const Fields ready = worker.reply();
  EXPECT_EQ(ready, (Fields{"ready", "fake", "1", "cpu", "0", "2", "0", "1"}));
  EXPECT_EQ(worker.said(),
            (std::vector<Fields>{{"input", "x", "float32", "2,4", "random in (-1, 1), seed 1"},
                                 {"output", "y", "float32", "-1,4"}}));
  worker.send("run\t3");
  Fields ran = worker.reply();
  ASSERT_EQ(ran.size(), 5u);
  EXPECT_EQ(ran[1], "0");
  for (size_t i = 2; i < ran.size(); ++i) {
    EXPECT_GE(std::stoll(ran[i]), 3 * 50'000) << "an inference faster than its layers";
  }
  worker.send("warm\t2");
  ran = worker.reply();
  ASSERT_EQ(ran.size(), 4u);
  EXPECT_EQ(ran[1], "3");
  worker.send("flush");
  EXPECT_EQ(worker.reply(), Fields{"flushed"});
  worker.send("quit");
  EXPECT_EQ(worker.reply(), (Fields{"bye", "20", "0"}));
  EXPECT_EQ(worker.wait(), 0);

  const TraceFile file = read_trace(worker.trace());
  EXPECT_TRUE(file.is_complete);
  ASSERT_EQ(file.models.size(), 5u);
  ASSERT_EQ(file.layers.size(), 15u);
  EXPECT_EQ(file.models[0].site.name, "fake:layers=3,us=50,width=4");
  constexpr const char* kTypes[] = {"Conv", "Relu", "MatMul"};
  for (size_t i = 0; i < file.layers.size(); ++i) {
    const Span& layer = file.layers[i];
    EXPECT_EQ(file.models[i / 3].iteration, static_cast<int64_t>(i / 3));
    EXPECT_TRUE(file.models[i / 3].holds(layer));
    EXPECT_EQ(layer.site.name, "layer_" + std::to_string(i % 3));
    EXPECT_EQ(layer.site.type, kTypes[i % 3]);
    EXPECT_GE(layer.end_ns - layer.start_ns, 50'000 - 1000);
    EXPECT_NE(std::find(layer.site.attributes.begin(), layer.site.attributes.end(),
                        std::pair<std::string, std::string>("output_shapes", "[[2,4]]")),
              layer.site.attributes.end());
    EXPECT_NE(std::find(layer.site.counters.begin(), layer.site.counters.end(),
                        std::pair<std::string, double>("output_bytes", 32)),
              layer.site.counters.end());
  }
}

TEST(Worker, SavesResultsOfGivenInputs) {
  Scratch files;
  const std::vector<float> x = {0, 8, 16, 24};
  const int64_t dimensions[] = {1, 4};
  const auto input = files.path() / "x.npy";
  ASSERT_TRUE(process::write_npy(input, {sizeof(xsp_tensor), "x", XSP_FLOAT32, 2, dimensions,
                                         x.data(), x.size() * sizeof(float)})
                  .ok());
  WorkerProcess worker(
      fake("fake:layers=2,us=0,width=4", "model", {"--input", "x=@" + input.string()}));
  ASSERT_EQ(worker.reply()[0], "ready");
  worker.send("run\t1");
  ASSERT_EQ(worker.reply()[0], "ran");
  worker.send("save\t" + files.path().string());
  const Fields saved = worker.reply();
  ASSERT_EQ(saved, (Fields{"saved", "1", "0_y.npy"}));
  const auto y = process::read_npy(files.path() / saved[2]);
  ASSERT_TRUE(y.ok()) << y.error().text;
  EXPECT_EQ(y->dimensions, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(floats(*y), (std::vector<float>{1, 3, 5, 7}));  // ((v / 2 + 0) / 2 + 1)
}

TEST(Worker, MakesTokensAndNotesWhatItChose) {
  WorkerProcess worker(fake("fake:tokens", "model", {"--batch", "3"}));
  ASSERT_EQ(worker.reply()[0], "ready");
  ASSERT_EQ(worker.said().size(), 4u);
  EXPECT_EQ(worker.said()[1],
            (Fields{"input", "tokens", "int64", "3,128", "random, 0 to 99, seed 1"}));
  EXPECT_EQ(worker.said()[3][0], "note");
  EXPECT_NE(worker.said()[3][1].find("sequence"), std::string::npos);
}

TEST(Worker, LayersOfOtherThreadsNestedAndLateOnes) {
  WorkerProcess worker(fake("fake:layers=4,us=200,threads=2,nested"));
  ASSERT_EQ(worker.reply()[0], "ready");
  worker.send("run\t2");
  ASSERT_EQ(worker.reply()[0], "ran");
  worker.send("quit");
  ASSERT_EQ(worker.reply()[0], "bye");
  const TraceFile file = read_trace(worker.trace());
  ASSERT_EQ(file.layers.size(), 16u);
  for (size_t i = 0; i < file.layers.size(); i += 2) {
    EXPECT_EQ(file.layers[i + 1].site.name, file.layers[i].site.name + "/inner");
    EXPECT_TRUE(file.layers[i].holds(file.layers[i + 1]));
    EXPECT_EQ(file.layers[i].thread, file.layers[i + 1].thread);
    const bool is_even = (i / 2) % 2 == 0;
    EXPECT_EQ(file.layers[i].thread == file.models[0].thread, is_even);
  }
  WorkerProcess late(fake("fake:layers=4,us=200,late"));
  ASSERT_EQ(late.reply()[0], "ready");
  late.send("run\t2");
  ASSERT_EQ(late.reply()[0], "ran");
  late.close_input();  // even without `flush`, its layers are kept
  ASSERT_EQ(late.reply()[0], "bye");
  EXPECT_EQ(read_trace(late.trace()).layers.size(), 8u);
}

struct Fault {
  const char* name;
  const char* fault;
  int signal;       // the signal that ends the worker; 0 if none does
  int exit_status;  // if no signal
  int xsp_status;   // the reported status; 0 if there is none
};

class WorkerFault : public testing::TestWithParam<Fault> {};

TEST_P(WorkerFault, IsToldFromTheOthers) {
  const Fault& fault = GetParam();
  for (const bool at_open : {false, true}) {
    WorkerProcess worker(
        fake(std::string("fake:us=0,layers=2,fault=") + fault.fault + (at_open ? "@open" : "@2")));
    if (!at_open) {
      ASSERT_EQ(worker.reply()[0], "ready");
      worker.send("run\t5");
    }
    const Fields reply = worker.reply();
    if (fault.xsp_status == 0) {
      EXPECT_TRUE(reply.empty());
    } else {
      ASSERT_EQ(reply.size(), 3u);
      EXPECT_EQ(reply[0], "failed");
      EXPECT_EQ(reply[1], std::to_string(fault.xsp_status));
      EXPECT_NE(reply[2], "");
    }
    const int status = worker.wait();
    if (fault.signal != 0) {
      ASSERT_TRUE(WIFSIGNALED(status));
      EXPECT_EQ(WTERMSIG(status), fault.signal);
    } else {
      ASSERT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), fault.exit_status);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WorkerFault,
                         testing::Values(Fault{"crash", "crash", SIGSEGV, 0, 0},
                                         Fault{"kill", "kill", SIGKILL, 0, 0},
                                         Fault{"exit", "exit", 0, 3, 0},
                                         Fault{"memory", "memory", 0, 1, XSP_OUT_OF_MEMORY},
                                         Fault{"fail", "fail", 0, 1, XSP_FAILED}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Worker, AFailedRunLeavesItsEarlierIterations) {
  WorkerProcess worker(fake("fake:us=0,layers=2,fault=fail@2"));
  ASSERT_EQ(worker.reply()[0], "ready");
  worker.send("run\t5");
  ASSERT_EQ(worker.reply()[0], "failed");
  worker.wait();
  const TraceFile file = read_trace(worker.trace());
  EXPECT_TRUE(file.is_complete);
  EXPECT_EQ(file.models.size(), 2u);
  EXPECT_EQ(file.layers.size(), 4u);
  EXPECT_EQ(file.open, 1u);  // the iteration that never ended
}

TEST(Worker, AHangingRunIsTheParentsToKill) {
  WorkerProcess worker(fake("fake:us=0,fault=hang@1"));
  ASSERT_EQ(worker.reply()[0], "ready");
  worker.send("run\t1");
  ASSERT_EQ(worker.reply()[0], "ran");
  worker.send("run\t1");
  EXPECT_TRUE(worker.reply(300).empty());
  kill(worker.pid(), SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(worker.wait()));
}

TEST(Worker, IgnoresInterruptsAndObeysThePipe) {
  WorkerProcess worker(fake("fake:us=0"));
  ASSERT_EQ(worker.reply()[0], "ready");
  kill(worker.pid(), SIGINT);
  worker.send("run\t1");
  EXPECT_EQ(worker.reply()[0], "ran");
  worker.close_input();  // an end without `quit`
  EXPECT_EQ(worker.reply()[0], "bye");
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_TRUE(read_trace(worker.trace()).is_complete);
}

TEST(Worker, DisappearsWithItsParent) {
  // A process between this one and the worker dies as the worker's parent; then the worker becomes
  // this process's child.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    auto* worker = new WorkerProcess(fake("fake:us=0,fault=hang@0"));
    if (worker->reply().empty()) _exit(1);
    worker->send("run\t1");
    const pid_t pid = worker->pid();
    if (write(told[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    // The destructor that removes the scratch folder never runs.
    std::filesystem::remove_all(worker->scratch().path());
    kill(getpid(), SIGKILL);
  }
  pid_t worker = 0;
  ASSERT_EQ(read(told[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  int status = 0;
  waitpid(parent, &status, 0);
  EXPECT_EQ(waitpid(worker, &status, 0), worker);  // this would wait for ever if the worker
                                                   // survived
  EXPECT_TRUE(WIFSIGNALED(status));
  close(told[0]);
  close(told[1]);
}

TEST(Worker, SaysWhatIsWrongWithItsCommandLine) {
  const auto failure = [](const Fields& arguments) {
    WorkerProcess worker(arguments);
    const Fields reply = worker.reply();
    EXPECT_EQ(WEXITSTATUS(worker.wait()), 1);
    EXPECT_EQ(reply.size(), 3u);
    return reply.size() == 3 ? reply[1] + " " + reply[2] : "";
  };
  EXPECT_EQ(failure({}).substr(0, 2), "3 ");
  EXPECT_EQ(failure(fake("fake:", "model", {"--nonsense", "1"})).substr(0, 2), "3 ");
  EXPECT_EQ(failure(fake("fake:", "model", {"--input", "z=1"})).substr(0, 10), "3 input 'z");
  EXPECT_EQ(failure(fake("fake:nonsense", "model")).substr(0, 2), "2 ");
  EXPECT_EQ(failure(fake("fake:", "model", {"--device", "cuda"})).substr(0, 2), "4 ");
  EXPECT_EQ(failure({"--adapter", "/no/such.so", "--probe"}).substr(0, 2), "4 ");
  EXPECT_EQ(failure(fake("fake:", "model", {"--counters", "no_such"})).substr(0, 2), "4 ");
}

TEST(Worker, ProbesAdaptersAndCollectors) {
  WorkerProcess worker({"--adapter", adapter_path("fake"), "--probe"});
  EXPECT_EQ(worker.reply(), (Fields{"probe", "fake", "1", "built in", "cpu", ".fake", "", ""}));
  EXPECT_EQ(worker.wait(), 0);
  const auto collector = bin_folder() / "../lib/xsp/collectors/cpu.so";
  WorkerProcess other({"--collector", collector.string(), "--probe"});
  const Fields probe = other.reply();
  ASSERT_EQ(probe.size(), 8u);
  EXPECT_EQ(probe[1], "cpu");
  EXPECT_NE(probe[3], "");
  EXPECT_EQ(probe[5], "");  // for the host
  EXPECT_EQ(probe[7], "");  // no obstacle
  EXPECT_EQ(other.wait(), 0);
  WorkerProcess names({"--collector", collector.string(), "--names"});
  EXPECT_EQ(names.reply(), (Fields{"names", ""}));
  WorkerProcess watch({"--collector", collector.string(), "--watch", "--device", "cuda:0"});
  EXPECT_EQ(watch.reply(), (Fields{"watching", "0", "0"}));
  watch.send("state");
  EXPECT_EQ(watch.reply(), (Fields{"state", "", "", "", "", "", "", "", ""}));
  watch.send("measure");
  EXPECT_EQ(watch.reply(), Fields{"measured"});
  watch.send("quit");
  EXPECT_EQ(watch.wait(), 0);
}

TEST(Worker, CountersHangOnModelSpans) {
  const auto collector = bin_folder() / "../lib/xsp/collectors/cpu.so";
  WorkerProcess probe({"--collector", collector.string(), "--probe"});
  const Fields said = probe.reply();
  ASSERT_EQ(said.size(), 8u);
  const std::string counter = said[3].substr(0, said[3].find(','));
  WorkerProcess worker(
      fake("fake:us=100", "model", {"--collector", collector.string(), "--counters", counter}));
  ASSERT_EQ(worker.reply()[0], "ready");
  worker.send("run\t2");
  ASSERT_EQ(worker.reply()[0], "ran");
  worker.send("quit");
  ASSERT_EQ(worker.reply()[0], "bye");
  const TraceFile file = read_trace(worker.trace());
  ASSERT_EQ(file.models.size(), 2u);
  for (const Span& model : file.models) EXPECT_EQ(model.counters.count(counter), 1u);
}

}  // namespace
}  // namespace xsp::contract
