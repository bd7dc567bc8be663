// Measures the time of the timeline's tiles, from the first look at a run to the finest zoom.
//
//   bench_timeline [FILE.xsp] [Google Benchmark's options]
//   bench_timeline --spans N --keep FILE.xsp
// . --keep writes an evaluation of about N spans instead: that of a GPU, with 58 layers, 100
// launches and as many kernels on two streams in each inference, allocations, and samples of the
// device's power; and runs of the model alone and of its layers. Without a file, one of a million
// spans is made for the time of the benchmark.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "desk/serve/timeline/run.h"
#include "desk/store/database.h"

namespace {

namespace fs = std::filesystem;
using xsp::serve::TimelineRun;
using xsp::store::Database;

constexpr int64_t kDeepRun = 3;
constexpr int64_t kSpansOfInference = 271;

[[noreturn]] void stop_with(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  std::exit(1);
}

template <typename T>
T taken(xsp::Result<T> result) {
  if (!result.ok()) stop_with(result.error().text);
  return std::move(result).value();
}

// Each inference has layers 0..57, launches 58..157, kernels 158..257, the model 258, and
// allocations 259..270. The run took place on a day of November 2023.
const char* const kEvaluation = R"sql(
INSERT INTO evaluation VALUES ('model', 'synthetic'), ('framework', 'bench'),
  ('device', 'cuda:0');
CREATE TEMP TABLE plan AS SELECT * FROM (VALUES
  (1, 'model', NULL, ($n // 10 + 20)::BIGINT, 0::BIGINT, 900000),
  (2, 'model,layer', NULL, $n // 10 + 20,
    0, 920000),
  (3, 'model,layer,api,kernel', NULL, $n, 0::BIGINT, 950000),
  (4, 'model', 'energy', 2000, 0, 900000)) t(run_id, levels, counters, n, base, duration);
UPDATE plan SET base = 1700000000000000000 + run_id * 86400000000000;
INSERT INTO run BY NAME
  SELECT run_id, levels, 1 AS batch, counters, 'bench' AS framework, 'cuda:0' AS device,
    2 AS threads, 10 AS warmup_iterations, n - 10 AS iterations, 'ok' AS status,
    'interval' AS stopped_by FROM plan;
INSERT INTO block BY NAME
  SELECT run_id, b AS block, b * n // 20 AS first_iteration, n // 20 AS iterations,
    base + b * n // 20 * 1000000 AS start_ns, n // 20 * 1000000 AS duration_ns FROM plan,
      range(20) t(b);
INSERT INTO span BY NAME
  SELECT run_id, i * 280 + k + 1 AS span_id,
    CASE WHEN k < 58 THEN i * 280 + 259 WHEN k = 258 THEN NULL
         ELSE i * 280 + (k - 58) % 100 * 58 // 100 + 1 END AS parent_id,
    CASE WHEN k < 58 THEN 3 WHEN k < 158 THEN 5 WHEN k < 258 THEN 6 WHEN k = 258 THEN 2 ELSE 5
      END AS level,
    CASE WHEN k < 58 THEN concat('stage', k // 15, '/block', k // 3 % 5, '/', ['conv', 'relu',
      'add'][k % 3 + 1])
         WHEN k < 158 THEN 'cudaLaunchKernel'
         WHEN k < 258 THEN concat('void kernel_', k % 40, '<float, 128>(float*, int)')
         WHEN k = 258 THEN 'synthetic' WHEN k % 2 = 1 THEN 'allocate' ELSE 'free' END AS name,
    CASE WHEN k < 58 THEN ['Conv', 'Relu', 'Add'][k % 3 + 1]
         WHEN k < 158 THEN 'launch' WHEN k < 258 THEN 'kernel' WHEN k > 258 THEN 'memory' END AS
           type,
    i - 10 AS iteration,
    CASE WHEN k < 58 THEN k WHEN k < 158 THEN k - 58 WHEN k < 258 THEN k - 158 ELSE 0 END AS
      ordinal,
    base + 1000000 * i
      + CASE WHEN k < 58 THEN k * 15000 WHEN k < 158 THEN (k - 58) * 8700 + 2000
             WHEN k < 258 THEN (k - 158) * 8800 + 9000 WHEN k > 258 THEN (k - 259) * 74000 + 500
               ELSE 0 END
      AS start_ns,
    CASE WHEN k < 58 THEN 14000 + hash(i * 280 + k) % 1000
         WHEN k < 158 THEN 2000 + hash(i * 280 + k) % 500
         WHEN k < 258 THEN 6000 + hash(i * 280 + k) % 3000 WHEN k > 258 THEN 0
         ELSE duration + hash(i) % 30000 END AS duration_ns,
    1 AS process, CASE WHEN k < 158 OR k >= 258 THEN 1 END AS thread,
    CASE WHEN k >= 158 AND k <> 258 THEN 0 END AS device,
    CASE WHEN k >= 158 AND k < 258 THEN 7 + k % 2 END AS stream,
    CASE WHEN k >= 58 AND k < 258 THEN i * 100 + (k - 58) % 100 + 1 END AS correlation_id,
    i * 280 + 259 AS model_id,
    CASE WHEN k < 58 THEN i * 280 + k + 1 WHEN k <> 258 THEN i * 280 + (k - 58) % 100 * 58 // 100
      + 1 END
      AS layer_id,
    CASE WHEN k < 58 THEN k + 2 WHEN k < 158 THEN 70 WHEN k < 258 THEN 100 + k % 40
         WHEN k > 258 THEN 71 + k % 2 ELSE 1 END AS site_id,
    0 AS depth, CASE WHEN k < 58 OR k = 258 THEN 10000 ELSE duration_ns END AS self_ns, false AS
      is_open
  FROM plan, range($n) t(i), range(271) u(k)
  WHERE i < n AND (k = 258 OR (k < 58 AND run_id IN (2, 3)) OR run_id = 3)
  ORDER BY run_id, start_ns + duration_ns;
INSERT INTO span_counter
  SELECT run_id, span_id, 'allocated_bytes', 1e6 * (10 + span_id % 280 % 7) FROM span WHERE type
    = 'memory';
INSERT INTO site_attribute VALUES (3, 71, 'pool', 'cuda:0'), (3, 72, 'pool', 'cuda:0');
INSERT INTO site_attribute
  SELECT run_id, l + 2, key, value FROM range(58) t(l), (VALUES (2), (3)) r(run_id), (VALUES
    ('input_shapes', '[[1,64,56,56],[64,64,3,3]]'), ('output_shapes', '[[1,64,56,56]]')) u(key,
      value);
INSERT INTO span BY NAME
  SELECT 4 AS run_id, 2000000 + s AS span_id, 1 AS level, 'sample' AS name, 'nvml' AS type,
    base + s * 100000000 AS start_ns, 100000000 AS duration_ns, 1 AS process, 2 AS thread, 0 AS
      device,
    200 AS site_id, 0 AS depth, 100000000 AS self_ns, false AS is_open
  FROM plan, range(20) t(s) WHERE run_id = 4;
INSERT INTO span_counter
  SELECT run_id, span_id, t.name, value + hash(span_id) % 20 FROM span, (VALUES ('power_w', 300),
    ('sm_clock_mhz', 1960))
    t(name, value) WHERE type = 'nvml';
INSERT INTO audit_fact SELECT run_id, 'spans', count(*) FROM span GROUP BY run_id;
)sql";

void make(const fs::path& path, int64_t spans) {
  Database database = taken(Database::create(path));
  std::string sql = kEvaluation;
  // The number is a BIGINT, because times are computed from it.
  const std::string count = std::to_string(spans / kSpansOfInference) + "::BIGINT";
  for (size_t at = 0; (at = sql.find("$n", at)) != std::string::npos;) sql.replace(at, 2, count);
  taken(database.execute(sql));
  taken(database.finish());
}

void load(benchmark::State& state, const fs::path& path) {
  for (auto _ : state) {
    Database database = taken(Database::open(path));
    benchmark::DoNotOptimize(taken(TimelineRun::load(database, kDeepRun)).spans());
  }
}

// Requests tiles all over the run, at the zoom that is state.range(0).
void tile(benchmark::State& state, const fs::path& path) {
  Database database = taken(Database::open(path));
  const TimelineRun run = taken(TimelineRun::load(database, kDeepRun));
  const int64_t zoom = state.range(0);
  if (zoom > run.max_zoom()) return state.SkipWithError("finer than the run's finest zoom");
  const int64_t last = run.duration_ns() / (run.axis_ns() >> zoom);
  size_t items = 0;
  int64_t number = 0;
  for (auto _ : state) {
    items += taken(run.tile(database, zoom, number)).items.items.size();
    number = (number + 7919) % (last + 1);
  }
  state.counters["items"] =
      static_cast<double>(items) / static_cast<double>(std::max<int64_t>(1, state.iterations()));
  state.counters["MiB"] = static_cast<double>(run.bytes()) / (1 << 20);
}

// Removes `--name value` from the arguments, and returns the value; empty if it is not there.
std::string take_option(std::vector<char*>* arguments, const char* name) {
  for (size_t i = 1; i + 1 < arguments->size(); ++i) {
    if (std::strcmp((*arguments)[i], name) != 0) continue;
    std::string value = (*arguments)[i + 1];
    const auto at = arguments->begin() + static_cast<std::ptrdiff_t>(i);
    arguments->erase(at, at + 2);
    return value;
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const std::string spans_text = take_option(&arguments, "--spans");
  const std::string keep_path = take_option(&arguments, "--keep");
  const int64_t spans =
      spans_text.empty() ? 1'000'000 : std::strtoll(spans_text.c_str(), nullptr, 10);
  if (spans < 10'000) stop_with("--spans: too few: give at least 10000");
  if (!keep_path.empty()) {
    make(keep_path, spans);
    return 0;
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  std::string folder = (fs::temp_directory_path() / "bench_timeline.XXXXXX").string();
  fs::path path = count > 1 ? arguments[1] : "";
  if (path.empty()) {
    path = fs::path(mkdtemp(folder.data())) / "bench.xsp";
    make(path, spans);
  }
  benchmark::RegisterBenchmark("load", [&](auto& state) {
    load(state, path);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("tile", [&](auto& state) { tile(state, path); })
      ->Unit(benchmark::kMillisecond)
      ->DenseRange(0, 20, 2);
  benchmark::RunSpecifiedBenchmarks();
  if (count <= 1) {
    std::error_code ignored;
    fs::remove_all(path.parent_path(), ignored);
  }
  return 0;
}
