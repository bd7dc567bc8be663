#include "one_adapter.h"

#include <utility>

#include "manifest.h"

namespace xsp::contract {

OneAdapter::OneAdapter(std::string adapter, const std::string& folder, Fields always)
    : adapter_(std::move(adapter)),
      folder_(source_folder() / "tests/data" / folder),
      always_(std::move(always)) {}

void OneAdapter::SetUp() {
  if (!std::filesystem::exists(adapter_path(adapter_))) GTEST_SKIP() << "skipped: not built";
  WorkerProcess probe({"--adapter", adapter_path(adapter_), "--probe"});
  const Fields reply = probe.reply();
  if (!reply.empty() && reply[0] == "failed") GTEST_SKIP() << "skipped: " << reply[2];
}

Fields OneAdapter::arguments(const std::string& model, const Fields& more,
                             const std::string& levels) const {
  Fields all = {"--adapter", adapter_path(adapter_), "--model", data(model), "--levels", levels};
  all.insert(all.end(), always_.begin(), always_.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TraceFile OneAdapter::traced(const std::string& model, const Fields& more, size_t runs) const {
  WorkerProcess worker(arguments(model, more));
  const Fields ready = worker.reply();
  EXPECT_EQ(ready.empty() ? "" : ready[0], "ready") << (ready.size() > 2 ? ready[2] : "");
  for (const std::string& command :
       {"run\t" + std::to_string(runs), std::string("flush"), std::string("quit")}) {
    worker.send(command);
    worker.reply();
  }
  EXPECT_EQ(worker.wait(), 0);
  return read_trace(worker.trace());
}

std::string OneAdapter::failure(const std::string& model, const Fields& more) const {
  return failure_of(arguments(model, more, "model"));
}

std::vector<std::string> OneAdapter::names(const TraceFile& file) {
  std::vector<std::string> all;
  for (const Span& layer : file.layers) all.push_back(layer.site.name);
  return all;
}

}  // namespace xsp::contract
