// Tests that the layers of a model are the same on every processor, however the framework changes
// them.
#include "processor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <map>

#include "manifest.h"
#include "trace_file.h"
#include "worker_process.h"

namespace xsp::contract {
namespace {

using Run = std::tuple<std::filesystem::path, Processor>;

class ProcessorTest : public testing::TestWithParam<Run> {
 protected:
  void SetUp() override {
    const std::string why = why_no_worker_on(std::get<Processor>(GetParam()));
    if (!why.empty()) GTEST_SKIP() << "skipped: " << why;
  }

  // Returns why the adapter's library cannot be used on the workers' processor.
  static std::string why_no_library() {
    WorkerProcess probe({"--adapter", std::get<0>(GetParam()), "--probe"});
    const Fields reply = probe.reply();
    if (!reply.empty()) return reply[0] == "failed" ? reply[2] : "";
    const int status = probe.wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL) << "the worker died";
    return "the library needs instructions that this processor lacks";
  }

  // Returns the facts of each layer, by the last of the model's own layers that it stands for, or
  // by its name.
  static std::map<std::string, std::string> layers() {
    const Manifest manifest = read_manifest(std::get<0>(GetParam()));
    WorkerProcess worker({"--adapter", std::get<0>(GetParam()), "--model", manifest.model,
                          "--levels", "model,layer", "--batch", "2"});
    const Fields ready = worker.reply();
    EXPECT_EQ(ready.empty() ? "" : ready[0], "ready") << (ready.size() > 2 ? ready[2] : "");
    for (const char* command : {"run\t1", "flush", "quit"}) {
      worker.send(command);
      worker.reply();
    }
    EXPECT_EQ(worker.wait(), 0);
    std::map<std::string, std::string> facts;
    for (const Span& layer : read_trace(worker.trace()).layers) {
      std::string name = attribute(layer.site, "source_layers");
      if (name == "[]") continue;  // the runtime added it
      if (name == "absent") name = layer.site.name;
      facts[name] = attribute(layer.site, "output_shapes") + " " +
                    attribute(layer.site, "output_dtypes") + " " +
                    std::to_string(counter(layer.site, "output_bytes")) + " " +
                    std::to_string(counter(layer.site, "parameter_bytes"));
    }
    return facts;
  }
};

TEST_P(ProcessorTest, LayersAreThoseOfThisMachine) {
  const std::string absent = why_no_library();
  if (!absent.empty()) GTEST_SKIP() << "skipped: " << absent;
  const auto here = layers();
  const OnProcessor on(std::get<Processor>(GetParam()));
  const std::string why = why_no_library();
  if (!why.empty()) GTEST_SKIP() << "skipped: " << why;
  EXPECT_EQ(layers(), here);
}

// There is one CTest case for each, named after the adapter and the processor.
INSTANTIATE_TEST_SUITE_P(All, ProcessorTest,
                         testing::Combine(testing::ValuesIn(built_adapters()),
                                          testing::ValuesIn(older_processors())),
                         [](const auto& one) {
                           return std::get<0>(one.param).stem().string() + "_" +
                                  std::get<1>(one.param).name;
                         });

}  // namespace
}  // namespace xsp::contract
