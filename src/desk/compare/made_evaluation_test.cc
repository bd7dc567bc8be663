#include "desk/compare/made_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace xsp::compare {
namespace {

class Evaluation {
 public:
  explicit Evaluation(unsigned seed)
      : random_(seed), has_gpu_(seed % 2 == 0), has_second_thread_(seed % 4 != 1) {
    sql_ = "INSERT INTO evaluation VALUES ('model', 'made'), ('limits.width_pct', '1');";
  }

  std::string make() {
    const int batches = 1 + static_cast<int>(random_() % 2);
    int run_id = 0;
    for (int batch = 1; batch <= batches; ++batch) {
      std::vector<const char*> sets = {"model", "model,layer"};
      if (has_gpu_) sets.insert(sets.end(), {"model,layer,api", "model,layer,api,kernel"});
      const int blocks = 2 + static_cast<int>(random_() % 9);
      for (const char* levels : sets) run(++run_id, batch, levels, blocks);
    }
    return sql_;
  }

 private:
  double uniform(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random_);
  }
  static std::string n(double value) { return std::to_string(static_cast<int64_t>(value)); }

  void run(int run_id, int batch, const std::string& levels, int blocks) {
    static const char* const kEnds[] = {"interval", "time", "iterations", "interval"};
    const double slower = 1 + (levels == "model" ? 0 : uniform(0, random_() % 5 == 0 ? 1 : 0.1));
    run_id_ = n(run_id);
    span_id_ = 0;
    int iteration = 0;
    start_ns_ = 1e9 * run_id;
    inference(-1, 9e6 * batch, levels);
    for (int block = 0; block < blocks; ++block) {
      const int size = 1 + static_cast<int>(random_() % 5);
      sql_ +=
          "INSERT INTO block(run_id, block, first_iteration, iterations, start_ns, duration_ns)"
          " VALUES (" +
          run_id_ + "," + n(block) + "," + n(iteration) + "," + n(size) + ",0,0);";
      for (int i = 0; i < size; ++i) {
        const double slow = random_() % 8 == 0 ? 2.5 : 1;
        inference(iteration++, 1e6 * batch * slower * slow * uniform(0.95, 1.05), levels);
      }
    }
    sql_ +=
        "INSERT INTO run(run_id, levels, batch, device, threads, iterations, status, "
        "stopped_by) VALUES (" +
        run_id_ + ",'" + levels + "'," + n(batch) + ",'" + (has_gpu_ ? "cuda:0" : "cpu") + "',1," +
        n(iteration) + ",'ok','" + kEnds[random_() % 4] + "');";
  }

  struct Span {
    int level = 3;
    const char* name = "";
    double start_ns = 0, duration_ns = 0, self_ns = 0;
    int depth = 0, site = 0, thread = 1;
    int64_t parent = 0, layer = 0;
  };
  int64_t add(const Span& span, int iteration, int64_t model, bool on_device = false,
              const char* type = nullptr, int64_t correlation = 0) {
    const int64_t id = span.level == 2 ? model : ++span_id_;
    const int64_t layer = span.level == 3 ? id : span.layer;
    const auto maybe = [](int64_t value) { return value == 0 ? "NULL" : std::to_string(value); };
    sql_ +=
        "INSERT INTO span(run_id, span_id, parent_id, level, name, type, iteration, ordinal, "
        "start_ns, duration_ns, process, thread, device, stream, correlation_id, model_id, "
        "layer_id, site_id, depth, self_ns, is_open) VALUES (" +
        run_id_ + "," + std::to_string(id) + "," + maybe(span.parent) + "," + n(span.level) + ",'" +
        span.name + "'," + (type == nullptr ? "NULL" : "'" + std::string(type) + "'") + "," +
        n(iteration) + "," + n(span.site) + "," + n(span.start_ns) + "," + n(span.duration_ns) +
        ",1," + n(span.thread) + "," + (on_device ? "0,7" : "NULL,NULL") + "," +
        maybe(correlation) + "," + std::to_string(model) + "," + maybe(layer) + "," + n(span.site) +
        "," + n(span.depth) + "," + n(std::floor(span.self_ns)) + ",false);";
    return id;
  }

  // Adds layers: `outer` contains `inner`; `loop` runs three times, each longer; `beside` is on a
  // second thread, at the same time as the loop.
  void inference(int iteration, double latency_ns, const std::string& levels) {
    latency_ns = std::floor(latency_ns);
    const int64_t model = ++span_id_;
    const double start = start_ns_;
    add({2, "made", start, latency_ns, latency_ns, 0, 1, 1, 0, 0}, iteration, model);
    start_ns_ += 2 * latency_ns;
    if (levels == "model") return;
    const double tenth = std::floor(latency_ns / 10);
    const double inner = std::floor(tenth * uniform(0.5, 1.5));
    const int64_t outer =
        add({3, "outer", start + tenth, 2 * tenth, 2 * tenth - inner, 0, 2, 1, model, 0}, iteration,
            model, false, "Block");
    const int64_t held = add({3, "inner", start + tenth, inner, inner, 1, 3, 1, outer, 0},
                             iteration, model, false, "Conv");
    std::vector<int64_t> layers = {outer, held};
    double at = start + 4 * tenth;
    for (int time = 1; time <= 3; ++time) {
      const double duration = std::floor(tenth * time * uniform(0.2, 0.4));
      layers.push_back(add({3, "loop", at, duration, duration, 0, 4, 1, model, 0}, iteration, model,
                           false, "Gemm"));
      at += tenth;
    }
    const double beside = std::floor(tenth * uniform(0.5, 3));
    if (has_second_thread_) {
      add({3, "beside", start + 4 * tenth, beside, beside, 0, 5, 2, model, 0}, iteration, model,
          false, "Relu");
    }
    if (levels == "model,layer") return;
    double device_at = start + tenth;
    for (const int64_t layer : layers) {
      const double duration = std::floor(tenth * uniform(0.1, 0.9));
      const int64_t correlation = ++correlation_;
      add({5, "cudaLaunchKernel", device_at - 500, 400, 400, 0, 20, 1, layer, layer}, iteration,
          model, false, "launch", correlation);
      if (levels != "model,layer,api,kernel") continue;
      add({6, random_() % 2 == 0 ? "gemm" : "axpy", device_at, duration, duration, 0,
           30 + static_cast<int>(layer - layers[0]), 1, layer, layer},
          iteration, model, true, "kernel", correlation);
      device_at += tenth * uniform(0.3, 1.2);
    }
  }

  std::mt19937_64 random_;
  bool has_gpu_, has_second_thread_;
  std::string sql_, run_id_;
  int64_t span_id_ = 0, correlation_ = 0;
  double start_ns_ = 0;
};

}  // namespace

std::string made_evaluation(unsigned seed) { return Evaluation(seed).make(); }

store::Database filled(const std::string& sql) {
  Result<store::Database> database = store::Database::in_memory();
  EXPECT_TRUE(database.ok());
  const Status status = database->execute(sql);
  EXPECT_TRUE(status.ok()) << status.error().text;
  return std::move(database).value();
}

}  // namespace xsp::compare
