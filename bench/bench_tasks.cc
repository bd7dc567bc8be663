// Measures what 100,000 tasks of a sweep cost in a catalogue, and how long their plan takes.
//
// XSP_BENCH_DB names a server's catalogue; otherwise it is an SQLite file.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "desk/catalogue/catalogue.h"
#include "desk/sweep/plan.h"
#include "shared/base/scratch.h"

namespace xsp {
namespace {

constexpr size_t kTasks = 100000;

std::string subject_of(size_t i) { return "profile model" + std::to_string(i) + " --batch 1"; }

std::string place_in(const ScratchFolder& scratch) {
  const char* server = std::getenv("XSP_BENCH_DB");
  return server != nullptr ? server : (scratch.path() / "catalogue.sqlite").string();
}

void notes_tasks(benchmark::State& state) {
  const auto scratch = ScratchFolder::create();
  auto catalogue = catalogue::Catalogue::open(place_in(**scratch));
  if (!catalogue.ok()) return state.SkipWithError(catalogue.error().text.c_str());
  std::vector<catalogue::Task> tasks;
  for (size_t i = 0; i < kTasks; ++i) {
    tasks.push_back(
        {"t" + std::to_string(i), subject_of(i), "done", 1, subject_of(i), 2.5, "host"});
  }
  for (auto _ : state) {
    const Status noted = catalogue->note_sweep({"sweep", "bench", "", "done", "2026-01-01"}, tasks);
    if (!noted.ok()) state.SkipWithError(noted.error().text.c_str());
  }
}
BENCHMARK(notes_tasks)->Unit(benchmark::kMillisecond);

void knows_seconds_of_108(benchmark::State& state) {
  const auto scratch = ScratchFolder::create();
  auto catalogue = catalogue::Catalogue::open(place_in(**scratch));
  if (!catalogue.ok()) return state.SkipWithError(catalogue.error().text.c_str());
  std::vector<catalogue::Task> tasks;
  std::vector<std::string> subjects;
  for (size_t i = 0; i < kTasks; ++i) {
    tasks.push_back({"t" + std::to_string(i), "", "done", 1, subject_of(i), 2.5, "host"});
    if (i % 926 == 0) subjects.push_back(subject_of(i));
  }
  (void)catalogue->note_sweep({"sweep", "bench", "", "done", "2026-01-01"}, tasks);
  for (auto _ : state) {
    const auto seconds = catalogue->seconds_of(subjects);
    if (!seconds.ok() || seconds->size() != subjects.size()) state.SkipWithError("not found");
  }
}
BENCHMARK(knows_seconds_of_108)->Unit(benchmark::kMillisecond);

void reads_plan(benchmark::State& state) {
  sweep::Plan plan;
  plan.id = "p";
  for (size_t i = 0; i < kTasks; ++i) {
    sweep::Task task;
    task.name = "t" + std::to_string(i);
    task.model = "m";
    task.scenario = "profile";
    plan.tasks.push_back(task);
  }
  const std::string text = sweep::to_json(plan);
  for (auto _ : state) benchmark::DoNotOptimize(sweep::plan_of(text, "plan"));
}
BENCHMARK(reads_plan)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xsp

BENCHMARK_MAIN();
