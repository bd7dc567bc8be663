#include "process/load/run_load.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "process/load/interrupt.h"
#include "process/load/loadgen.h"
#include "process/load/other_programs.h"
#include "process/load/request_spans.h"
#include "process/load/sources.h"

namespace xsp::process {
namespace {

constexpr int64_t kProgressNs = 1'000'000'000;

Status write_answers(const LoadReport& report, const std::string& path) {
  std::ofstream file(path);
  for (const Answer& answer : report.answers) {
    file << answer.id << '\t' << answer.batch << '\t' << answer.position << '\t'
         << answer.batch_size << '\t' << answer.arrival_ns << '\t' << answer.free_ns << '\t'
         << answer.formed_ns << '\t' << answer.ready_ns << '\t' << answer.computed_ns << '\t'
         << answer.done_ns << '\t' << answer.instance << '\n';
  }
  file.close();
  if (!file) return failed(path + ": cannot be written: make room for it");
  return Ok{};
}

}  // namespace

Result<LoadSettings> read_load_settings(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.good()) return usage(path + ": cannot be read: check its name");
  return parse_load_settings(text.str());
}

Result<LoadReport> run_load(const LoadSettings& settings, std::span<Server* const> servers,
                            const SendFields& send) {
  RealClock clock;
  std::optional<RequestSpans> spans;
  std::optional<OtherPrograms> others;
  if (settings.records_requests) {
    spans.emplace();
    others.emplace();
  }
  const int64_t start_ns = clock.now_ns();
  std::unique_ptr<LoadgenSource> loadgen;
  if (settings.generator == Generator::kLoadgen) loadgen = LoadgenSource::start(settings);
  const std::unique_ptr<Source> own = loadgen ? nullptr : make_source(settings, start_ns);
  Source& source = loadgen ? static_cast<Source&>(*loadgen) : *own;
  int64_t told_ns = start_ns;
  const OnBatch on_batch = [&](const Server& server, std::span<const Answer> batch,
                               const LoadReport& so_far) {
    if (spans) spans->emit(batch, server.steps());
    const int64_t done_ns = batch.back().done_ns;
    if (done_ns - told_ns < kProgressNs) return;
    told_ns = done_ns;
    send({"progress", std::to_string(so_far.answers.size()), std::to_string(done_ns - start_ns),
          std::to_string(done_ns - batch.front().arrival_ns)});
  };
  std::atomic<bool> stop = false;
  std::optional<Interrupt> interrupt;
  interrupt.emplace([&] {
    stop = true;
    source.wake(clock);
  });
  auto served = serve(settings, start_ns, source, servers, clock, on_batch, &stop);
  interrupt.reset();
  XSP_TRY(LoadReport report, std::move(served));
  if (loadgen && report.is_interrupted) {
    report.abandoned = loadgen->leave();
  } else if (loadgen) {
    XSP_TRY(report.abandoned, loadgen->end());
  }
  XSP_CHECK_OK(write_answers(report, settings.answers));
  return report;
}

}  // namespace xsp::process
