// How long every analysis takes on ten million spans, beside the budget of two seconds.
//
//   bench_analyze [FILE.xsp] [Google Benchmark's options]
//
// Each time is that of opening the file and running one analysis, as `xsp analyze` does. Without a
// file, one is made for the time of the benchmark, the worst of its kind: one batch size, 58
// layers, and nothing but their executions.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "analyze/catalogue.h"
#include "analyze/run.h"
#include "store/database.h"

namespace {

namespace fs = std::filesystem;

constexpr double kBudgetMs = 2000;

[[noreturn]] void stop_with(const xsp::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.text.c_str());
  std::exit(1);
}

void check(const xsp::Status& status) {
  if (!status.ok()) stop_with(status.error());
}

// 169,000 inferences of the model alone, and as many of the model and its 58 layers; and 8,500 with
// a kernel for each layer, once with their times and once with their counters.
const char* const kTenMillionSpans = R"sql(
INSERT INTO evaluation VALUES ('model', 'bench'), ('device', 'cpu');
INSERT INTO run BY NAME
  SELECT * FROM (VALUES (1, 'model'), (2, 'model,layer')) t(run_id, levels),
    (SELECT 1 AS batch, 'bench' AS framework, 'cpu' AS device, 2 AS threads,
       10 AS warmup_iterations, 168990 AS iterations, 'ok' AS status, 'iterations' AS stopped_by);
INSERT INTO block BY NAME
  SELECT run_id, b AS block, b * 8450 AS first_iteration, 8450 AS iterations, 0 AS start_ns,
    0 AS duration_ns FROM run, range(20) t(b);
INSERT INTO span BY NAME
  SELECT 1 AS run_id, i + 1 AS span_id, 2 AS level, 'bench' AS name, i - 10 AS iteration,
    0 AS ordinal, 1000000 * i AS start_ns, 900000 + hash(i) % 20000 AS duration_ns, 1 AS process,
    1 AS thread, i + 1 AS model_id, 1 AS site_id, 0 AS depth, duration_ns AS self_ns,
    false AS is_open
  FROM range(169000) t(i);
INSERT INTO span BY NAME
  SELECT 2 AS run_id, i * 59 + l + 1 AS span_id, CASE WHEN l < 58 THEN i * 59 + 59 END AS parent_id,
    CASE WHEN l < 58 THEN 3 ELSE 2 END AS level,
    CASE WHEN l < 58 THEN concat('layer_', l) ELSE 'bench' END AS name,
    CASE WHEN l < 58 THEN ['Conv', 'Relu', 'Add'][l % 3 + 1] END AS type, i - 10 AS iteration,
    CASE WHEN l < 58 THEN l ELSE 0 END AS ordinal,
    1000000 * i + CASE WHEN l < 58 THEN l * 15000 ELSE 0 END AS start_ns,
    CASE WHEN l < 58 THEN 14000 + hash(i * 59 + l) % 1000 ELSE 950000 + hash(i) % 30000 END
      AS duration_ns, 1 AS process, 1 AS thread, i * 59 + 59 AS model_id,
    CASE WHEN l < 58 THEN i * 59 + l + 1 END AS layer_id, l + 2 AS site_id, 0 AS depth,
    CASE WHEN l < 58 THEN duration_ns ELSE 100000 END AS self_ns, false AS is_open
  FROM range(169000) t(i), range(59) u(l);
INSERT INTO run BY NAME
  SELECT run_id, 'model,layer,library,api,kernel' AS levels, 1 AS batch, counters,
    'cuda:0' AS device, 10 AS warmup_iterations, 8490 AS iterations, 'ok' AS status
  FROM (VALUES (3, NULL), (4, 'all')) t(run_id, counters);
INSERT INTO span BY NAME
  SELECT r.run_id, span.* EXCLUDE run_id REPLACE (
    CASE level WHEN 3 THEN 6 ELSE level END AS level, CASE level WHEN 3 THEN 0 END AS device)
  FROM span, (VALUES (3), (4)) r(run_id) WHERE span.run_id = 2 AND iteration < 8490;
INSERT INTO span_counter
  SELECT run_id, span_id, t.name, t.value FROM span, (VALUES ('flops', 1e6),
    ('dram_read_bytes', 1e5),
    ('dram_write_bytes', 1e5), ('occupancy_pct', 50)) t(name, value)
  WHERE run_id = 4 AND level = 6;
INSERT INTO site_attribute
  SELECT 2, l + 2, key, value FROM range(58) t(l), (VALUES
    ('input_shapes', '[[1,64,56,56],[64,64,3,3]]'), ('output_shapes', '[[1,64,56,56]]'),
    ('input_dtypes', '["float32","float32"]'), ('output_dtypes', '["float32"]')) u(key, value);
INSERT INTO audit_fact
  SELECT run_id, name, 0 FROM run, (VALUES ('unattributed'), ('ambiguous'), ('clipped'),
    ('clipped_max_ns'), ('overlapping'), ('launches'), ('executions')) t(name);
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
INSERT INTO peak VALUES ('cpu', 'fp32_flops_per_s', 1e11, 'measured'),
  ('cpu', 'memory_bytes_per_s', 1e10, 'measured'),
  ('cuda:0', 'fp32_flops_per_s', 1e13, 'measured'),
  ('cuda:0', 'memory_bytes_per_s', 1e12, 'measured');
)sql";

void make_file(const fs::path& path) {
  auto database = xsp::store::Database::create(path);
  if (!database.ok()) stop_with(database.error());
  check(database->execute(kTenMillionSpans));
  check(database->finish());
}

void run_analysis(benchmark::State& state, const fs::path& path,
                  const xsp::analyze::Analysis& analysis) {
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    auto database = xsp::store::Database::open(path);
    if (!database.ok()) stop_with(database.error());
    const auto table = xsp::analyze::run(*database, analysis);
    if (!table.ok()) {
      state.SkipWithError(table.error().text.c_str());
      return;
    }
    benchmark::DoNotOptimize(table->rows.data());
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  state.counters["budget_ms"] = kBudgetMs;
  state.counters["of_budget"] = spent.count() / static_cast<double>(state.iterations()) / kBudgetMs;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto& catalogue = xsp::analyze::catalogue();
  if (!catalogue.ok()) stop_with(catalogue.error());
  fs::path path = argc > 1 ? argv[1] : "";
  const bool is_made = path.empty();
  if (is_made) {
    path = fs::temp_directory_path() / ("bench_analyze." + std::to_string(getpid()) + ".xsp");
    make_file(path);
  }
  for (const xsp::analyze::Analysis& analysis : catalogue.value()) {
    benchmark::RegisterBenchmark(
        (analysis.id + "_" + analysis.name).c_str(),
        [path, &analysis](benchmark::State& state) { run_analysis(state, path, analysis); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::error_code ignored;
  if (is_made) fs::remove(path, ignored);
  return 0;
}
