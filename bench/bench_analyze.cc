// Measures the time of every analysis on ten million spans, beside the budget of two seconds.
//
//   bench_analyze [FILE.xsp] [Google Benchmark's options]
//
// Each time includes opening the file and running one analysis, as `xsp analyze` does. Without a
// file, two worst cases are made for the time of the benchmark: one batch size, 58 layers, and only
// their executions; and a GPU's, with their launches and kernels, whose analyses are called gpu/...
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/store/database.h"

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

// The file has 169,000 inferences of the model alone, and as many of the model and its 58 layers.
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
INSERT INTO site_attribute
  SELECT 2, l + 2, key, value FROM range(58) t(l), (VALUES
    ('input_shapes', '[[1,64,56,56],[64,64,3,3]]'), ('output_shapes', '[[1,64,56,56]]'),
    ('input_dtypes', '["float32","float32"]'), ('output_dtypes', '["float32"]')) u(key, value);
INSERT INTO audit_fact
  SELECT run_id, name, 0 FROM run, (VALUES ('unattributed'), ('ambiguous'), ('clipped'),
    ('clipped_max_ns'), ('overlapping'), ('launches'), ('executions')) t(name);
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
INSERT INTO peak VALUES ('cpu', 'fp32_flops_per_s', 1e11, 'measured'),
  ('cpu', 'memory_bytes_per_s', 1e10, 'measured');
)sql";

// 38,000 inferences of 58 layers, 100 launches and as many kernels on two streams, of 40 names;
// 2,000 of the model alone and of the layers, 20 with counters, and a stretch with energy samples.
const char* const kTenMillionSpansOfAGpu = R"sql(
INSERT INTO evaluation VALUES ('model', 'bench'), ('device', 'cuda:0'), ('gpu.price_per_hour', '3');
CREATE TEMP TABLE plan AS SELECT * FROM (VALUES
  (1, 'model', NULL, 2000), (2, 'model,layer', NULL, 2000),
  (3, 'model,layer,api,kernel', NULL, 38000), (4, 'model,layer,api,kernel', 'roofline', 20),
  (5, 'model', 'energy', 2000)) t(run_id, levels, counters, n);
INSERT INTO run BY NAME
  SELECT run_id, levels, 1 AS batch, counters, 'bench' AS framework, 'cuda:0' AS device,
    2 AS threads, 10 AS warmup_iterations, n - 10 AS iterations, 'ok' AS status FROM plan;
INSERT INTO block BY NAME
  SELECT run_id, b AS block, b * n // 20 AS first_iteration, n // 20 AS iterations, 0 AS start_ns,
    0 AS duration_ns, 1980 AS gpu_sm_clock_mhz, 40 AS gpu_temperature_c FROM plan, range(20) t(b);
-- k: layers 0..57, launches 58..157, kernels 158..257, the model 258.
INSERT INTO span BY NAME
  SELECT run_id, i * 260 + k + 1 AS span_id, CASE WHEN k < 258 THEN i * 260 + 259 END AS parent_id,
    CASE WHEN k < 58 THEN 3 WHEN k < 158 THEN 5 WHEN k < 258 THEN 6 ELSE 2 END AS level,
    CASE WHEN k < 58 THEN concat('layer_', k) WHEN k < 158 THEN 'cudaLaunchKernel'
         WHEN k < 258 THEN concat('void kernel_', k % 40, '<float>(float*, int)') ELSE 'bench' END
      AS name,
    CASE WHEN k < 58 THEN ['aten::conv2d', 'aten::relu', 'aten::add'][k % 3 + 1]
         WHEN k < 158 THEN 'launch' WHEN k < 258 THEN 'kernel' END AS type,
    i - 10 AS iteration,
    CASE WHEN k < 58 THEN k WHEN k < 158 THEN k - 58 WHEN k < 258 THEN k - 158 ELSE 0 END
      AS ordinal,
    1000000 * i + CASE WHEN k < 58 THEN k * 15000 WHEN k < 158 THEN (k - 58) * 8700 + 2000
                       WHEN k < 258 THEN (k - 158) * 8800 + 4000 ELSE 0 END AS start_ns,
    CASE WHEN k < 58 THEN 14000 + hash(i * 260 + k) % 1000
         WHEN k < 158 THEN 2000 + hash(i * 260 + k) % 500
         WHEN k < 258 THEN 6000 + hash(i * 260 + k) % 3000 ELSE 950000 + hash(i) % 30000 END
      AS duration_ns,
    1 AS process, CASE WHEN k < 158 OR k = 258 THEN 1 END AS thread,
    CASE WHEN k >= 158 AND k < 258 THEN 0 END AS device,
    CASE WHEN k >= 158 AND k < 258 THEN 7 + k % 2 END AS stream,
    CASE WHEN k >= 58 AND k < 258 THEN i * 100 + (k - 58) % 100 + 1 END AS correlation_id,
    i * 260 + 259 AS model_id,
    CASE WHEN k < 58 THEN i * 260 + k + 1
         WHEN k < 258 THEN i * 260 + (k - 58) % 100 * 58 // 100 + 1 END AS layer_id,
    CASE WHEN k < 58 THEN k + 2 WHEN k < 158 THEN 70 WHEN k < 258 THEN 100 + k % 40 ELSE 1 END
      AS site_id, 0 AS depth, duration_ns AS self_ns, false AS is_open
  FROM plan, range(38000) t(i), range(259) u(k)
  WHERE i < n AND (run_id IN (3, 4) OR k = 258 OR (run_id = 2 AND k < 58));
INSERT INTO span BY NAME
  SELECT 5 AS run_id, 1000000 + i AS span_id, 1 AS level, 'sample' AS name, 'nvml' AS type,
    100000000 * i AS start_ns, 100000000 AS duration_ns, 1 AS process, 2 AS thread, 0 AS device,
    2 AS site_id, 0 AS depth, 100000000 AS self_ns, false AS is_open FROM range(20) t(i);
INSERT INTO span_counter
  SELECT 5, 1000000 + i, t.name, t.value FROM range(20) u(i),
    (VALUES ('energy_j', 30), ('power_w', 300)) t(name, value);
-- Every launch allocates as well, in ten inferences.
INSERT INTO span BY NAME
  SELECT * REPLACE (10000000 + span_id AS span_id, 'allocate' AS name, 'memory' AS type,
                    71 AS site_id, 0 AS duration_ns, NULL AS correlation_id)
  FROM span WHERE run_id = 3 AND level = 5 AND iteration BETWEEN 0 AND 9;
INSERT INTO span_counter
  SELECT run_id, span_id, t.name, t.value FROM span,
    (VALUES ('bytes', 1e6), ('allocated_bytes', 1e9)) t(name, value) WHERE type = 'memory';
INSERT INTO span_counter
  SELECT run_id, span_id, t.name, t.value FROM span, (VALUES ('flops', 1e6), ('fp32_flops', 1e6),
    ('dram_read_bytes', 1e5), ('dram_write_bytes', 1e5), ('l2_read_bytes', 2e5),
    ('l2_write_bytes', 2e5), ('occupancy_pct', 50), ('tensor_pipe_pct', 0)) t(name, value)
  WHERE run_id = 4 AND level = 6;
INSERT INTO site_attribute
  SELECT run_id, l + 2, key, value FROM plan, range(58) t(l), (VALUES
    ('input_shapes', '[[1,64,56,56],[64,64,3,3]]'), ('output_shapes', '[[1,64,56,56]]'),
    ('input_dtypes', '["float32","float32"]'), ('output_dtypes', '["float32"]')) u(key, value)
  WHERE run_id BETWEEN 2 AND 4;
INSERT INTO audit_fact
  SELECT run_id, name, 0 FROM run, (VALUES ('unattributed'), ('ambiguous'), ('clipped'),
    ('clipped_max_ns'), ('overlapping'), ('launches'), ('executions')) t(name);
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
INSERT INTO peak VALUES ('cuda:0', 'fp32_flops_per_s', 1e13, 'measured'),
  ('cuda:0', 'memory_bytes_per_s', 1e12, 'measured'),
  ('cuda:0', 'l2_bytes_per_s', 5e12, 'measured');
)sql";

void make_file(const fs::path& path, const char* sql) {
  auto database = xsp::store::Database::create(path);
  if (!database.ok()) stop_with(database.error());
  check(database->execute(sql));
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

void add_benchmarks(const std::string& prefix, const fs::path& path,
                    const std::vector<xsp::analyze::Analysis>& analyses) {
  for (const xsp::analyze::Analysis& analysis : analyses) {
    benchmark::RegisterBenchmark(
        (prefix + analysis.id + "_" + analysis.name).c_str(),
        [path, &analysis](benchmark::State& state) { run_analysis(state, path, analysis); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto& catalogue = xsp::analyze::catalogue();
  if (!catalogue.ok()) stop_with(catalogue.error());
  const fs::path made = fs::temp_directory_path() / ("bench_analyze." + std::to_string(getpid()));
  if (argc > 1) {
    add_benchmarks("", argv[1], catalogue.value());
  } else {
    fs::create_directories(made);
    make_file(made / "cpu.xsp", kTenMillionSpans);
    make_file(made / "gpu.xsp", kTenMillionSpansOfAGpu);
    add_benchmarks("", made / "cpu.xsp", catalogue.value());
    add_benchmarks("gpu/", made / "gpu.xsp", catalogue.value());
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  std::error_code ignored;
  fs::remove_all(made, ignored);
  return 0;
}
