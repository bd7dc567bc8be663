// The contract of every figure, checked on all evaluations: the made-up fixtures, a recording on an
// H200, and random ones.
//
//   1. An estimate lies inside its own printed interval.
//   2. The same quantity is the same number in every analysis, and in the comparison.
//   3. Parts and a named remainder add up to the whole.
//   4. A difference is the difference of the two numbers that are shown.
//   6. A number that is not settled says so wherever it is shown.
//   7. A level that distorts says so.
//   8. A step is the same everywhere. If the host runs ahead, no figure uses its starts of steps.
//   9. The device works within the span of a call, and each layer has one time there.
// The coverage of the intervals (5) is tested in statistics/typical_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/compare/compare.h"
#include "desk/compare/made_evaluation.h"
#include "desk/compare/quantities.h"
#include "desk/store/database.h"
#include "tests/places.h"
#include "tests/text.h"

namespace xsp::compare {
namespace {

namespace fs = std::filesystem;
using store::Database;
using store::Table;
using store::Value;

// Checks one evaluation.
class Numbers : Answers {
 public:
  Numbers(Database database, std::string name) : Answers(std::move(database), std::move(name)) {
    for (const auto& row : query("SELECT DISTINCT CAST(batch AS BIGINT) FROM source_run "
                                 "WHERE level = 2 ORDER BY 1")
                               .rows) {
      batches_.push_back(std::get<int64_t>(row[0]));
    }
  }

  void check() {
    EXPECT_FALSE(batches_.empty()) << name_;
    for (const int64_t batch : batches_) {
      SCOPED_TRACE(name_ + ", batch " + std::to_string(batch));
      estimates_lie_inside_their_intervals(batch);
      quantities_are_the_same_everywhere(batch);
      summary_adds_up(batch);
      levels_add_up(batch);
      device_adds_up(batch);
      types_take_their_share(batch);
      gains_are_of_the_shares_told(batch);
      phases_add_up(batch);
      steps_are_the_same_everywhere(batch);
      the_device_works_within_spans(batch);
      differences_are_of_what_is_shown(batch);
      doubts_are_said(batch);
      comparison_has_the_same(batch);
    }
  }

 private:
  void estimates_lie_inside_their_intervals(int64_t batch) {
    for (const analyze::Analysis& analysis : *analyze::catalogue()) {
      std::set<std::string> columns;
      for (const analyze::Column& one : analysis.columns) columns.insert(one.name);
      if (columns.count("low_ns") == 0) continue;
      const char* estimate = columns.count("overhead_ns") != 0  ? "overhead_ns"
                             : columns.count("latency_ns") != 0 ? "latency_ns"
                             : columns.count("mean_ns") != 0    ? "mean_ns"
                                                                : "step_ns";
      ASSERT_EQ(columns.count(estimate), 1u) << analysis.name << ": whose interval is it?";
      const auto& found = rows(analysis.name, batch);
      if (!found) continue;
      found->each([&](const auto& row) {
        const double low = found->value(row, "low_ns");
        if (std::isnan(low)) return;
        const double value = found->value(row, estimate);
        EXPECT_LE(low, value + close(value)) << analysis.name;
        EXPECT_GE(found->value(row, "high_ns"), value - close(value)) << analysis.name;
      });
    }
  }

  void quantities_are_the_same_everywhere(int64_t batch) {
    for (const Quantity& quantity : quantities()) {
      std::optional<double> first;
      std::string who;
      for (const Place& place : quantity.places) {
        const auto value = sum(place, batch);
        if (!value) continue;
        if (!first) {
          first = value;
          who = place.analysis;
        }
        EXPECT_NEAR(*value, *first, close(*first))
            << quantity.name << ": " << who << " and " << place.analysis;
      }
    }
  }

  // The summary divides the time as time_by_level does. On a CPU the types are the layers together;
  // on a GPU the types and the rest are what is divided, the latency or the device's time.
  void summary_adds_up(int64_t batch) {
    const auto& found = rows("model_summary", batch);
    const auto& levels = rows("time_by_level", batch);
    ASSERT_TRUE(found && levels);
    double divided = 0;
    std::map<std::string, std::pair<double, double>> types;  // time, share
    bool on_gpu = false;
    levels->each([&](const auto& row) {
      const std::string name = levels->at(row, "name");
      on_gpu = on_gpu || levels->at(row, "level") == "kernel";
      if (levels->at(row, "level") != "layer type") return;
      types[name] = {levels->value(row, "latency_ns"), levels->value(row, "share_pct")};
      const bool is_divided = name != "beyond the call" && name != "less the cost of recording";
      if (is_divided && !std::isnan(types[name].first)) divided += types[name].first;
    });
    double parts = 0;
    std::map<std::string, double> items;
    found->each([&](const auto& row) {
      const std::string item = found->at(row, "item");
      const double value = found->value(row, "value");
      items[item] = value;
      const bool is_part = found->at(row, "section") == "where" && found->at(row, "unit") == "ns" &&
                           item != "convolution" && item != "resolution";
      if (!is_part) return;
      parts += value;
      if (types.count(item) == 0) return;
      EXPECT_NEAR(value, types[item].first, close(value)) << item;
      const double share = found->value(row, "share_pct");
      EXPECT_EQ(std::isnan(share), std::isnan(types[item].second)) << item;
      if (std::isnan(share)) return;
      EXPECT_NEAR(share, types[item].second, close(share)) << item;
    });
    if (items.count("layers together") == 0) return;
    const double latency =
        items.count("latency") != 0 ? items["latency"] : items["call of the model"];
    EXPECT_NEAR(parts, on_gpu ? divided : items["layers together"], close(parts));
    EXPECT_NEAR(
        items["layers together"] + items["between layers"] + items["less the cost of recording"],
        latency, close(latency));
    const Place overhead = {"overhead_by_level", "added_and_event", {"layer model"}, "overhead_ns"};
    const std::optional<double> added = sum(overhead, batch);
    // Layers that a device ran come from the kernel run, whose recording costs a different time.
    const Table device =
        query("SELECT on_device FROM layer_run WHERE batch = " + std::to_string(batch));
    const bool on_device = !device.rows.empty() && as_text(device.rows[0][0]) == "true";
    if (added && !on_device && items.count("less the cost of recording") != 0) {
      EXPECT_NEAR(-items["less the cost of recording"], *added, close(*added));
    }
  }

  // Checks time_by_level: types add up to the model, layers to their type, kernels to their layer,
  // causes to the idle time.
  void levels_add_up(int64_t batch) {
    const auto& found = rows("time_by_level", batch);
    ASSERT_TRUE(found);
    using Key = std::pair<std::string, std::string>;  // level, name
    std::map<Key, double> own, parts;
    double shares = 0;
    std::string model;
    found->each([&](const auto& row) {
      const std::string level = found->at(row, "level");
      const double value = found->value(row, "latency_ns");
      if (std::isnan(value)) return;
      own[{level, found->at(row, "name")}] += value;
      if (level == "model") model = found->at(row, "name");
      parts[{level, found->at(row, "parent")}] += value;
      const double share = found->value(row, "share_pct");
      if (level == "layer type" && !std::isnan(share)) shares += share;
    });
    const double latency = own[{"model", model}];
    if (parts.count({"layer type", model}) != 0) {
      EXPECT_NEAR((parts[{"layer type", model}]), latency, close(latency));
      EXPECT_NEAR(shares, 100, 1e-6);
    }
    for (const auto& [key, value] : parts) {
      const auto& [level, parent] = key;
      if (level == "layer") {
        EXPECT_NEAR(value, (own[{"layer type", parent}]), close(value)) << parent;
      }
      if (level == "kernel") {
        EXPECT_NEAR(value, (own[{"layer", parent}]), close(value)) << parent;
      }
      if (level == "idle") {
        EXPECT_NEAR(value, (own[{"layer type", parent}]), close(value));
      }
    }
  }

  // The causes are those of time_of_step, and add up to its step, or to the latency of a profiled
  // model.
  void device_adds_up(int64_t batch) {
    const auto& found = rows("gpu_idle", batch);
    const auto& parts = rows("time_of_step", batch);
    if (!found || !parts) return;
    std::map<std::string, double> causes, by_step;
    double all = 0;
    bool is_inference = false;
    found->each([&](const auto& row) {
      causes[found->at(row, "cause")] += found->value(row, "duration_ns");
      all += found->value(row, "duration_ns");
      is_inference = found->at(row, "unit") == "inference";
    });
    parts->each([&](const auto& row) {
      const std::string cause = parts->at(row, "cause");
      const bool is_busy =
          cause == "compute" || cause == "other kernels" || cause == "communication";
      by_step[is_busy ? "busy" : cause] += parts->value(row, "time_ns");
    });
    for (const auto& [cause, ns] : by_step) {
      if (cause == "step") continue;
      EXPECT_NEAR(causes[cause], ns, close(by_step["step"])) << cause;
    }
    EXPECT_NEAR(all, by_step["step"], close(all));
    if (!is_inference) return;
    EXPECT_NEAR(all, sum(quantities()[0].places[0], batch).value_or(0), close(all));
  }

  // On a CPU, a type of layers has the same share of the latency in time_by_level and time_of_step.
  // The time between layers is the same in time_by_level and findings, if layers do not overlap and
  // all use the same inferences. It is the same in time_of_step, if all layers run on the model's
  // thread: a layer on another thread fills a gap of that thread in time_by_level alone.
  void types_take_their_share(int64_t batch) {
    const auto& levels = rows("time_by_level", batch);
    const auto& parts = rows("time_of_step", batch);
    const Table watched = query("SELECT 1 FROM evaluation WHERE key = 'recorded_by'");
    if (!levels || !parts || rows("gpu_idle", batch) || !watched.rows.empty()) return;
    const std::string kBetween = "between layers";
    std::map<std::string, double> shares, causes;
    double between_ns = 0;
    bool is_alike = true;
    levels->each([&](const auto& row) {
      const std::string name = levels->at(row, "name");
      is_alike = is_alike && name != "layers overlap";
      if (levels->at(row, "level") == "layer type" &&
          (levels->at(row, "is_rest") != "true" || name == kBetween)) {
        shares[name] += levels->value(row, "share_ns");
      }
    });
    if (!is_alike) return;
    parts->each([&](const auto& row) {
      if (parts->at(row, "cause") == "compute") {
        causes[parts->at(row, "culprit")] += parts->value(row, "time_ns");
      } else if (parts->at(row, "cause") == "framework" && parts->value(row, "layers") == 0) {
        between_ns += parts->value(row, "time_ns");
      }
    });
    const Table other_threads = query(
        "SELECT 1 FROM span l JOIN span m ON m.run_id = l.run_id AND m.span_id = l.model_id "
        "WHERE l.level = 3 AND l.thread <> m.thread LIMIT 1");
    if (other_threads.rows.empty()) {
      EXPECT_NEAR(between_ns, shares[kBetween], close(between_ns));
    }
    if (const auto& findings = rows("findings", batch)) {
      findings->each([&](const auto& row) {
        if (findings->at(row, "rule") != "between_layers") return;
        const double gain = findings->value(row, "gain_ns");
        EXPECT_NEAR(gain, shares[kBetween], close(gain));
      });
    }
    for (const auto& [type, ns] : causes) EXPECT_NEAR(ns, shares[type], close(ns)) << type;
  }

  // A layer, or those of a type, gains what the ceilings leave of the share that its finding tells.
  void gains_are_of_the_shares_told(int64_t batch) {
    if (const auto& found = rows("findings", batch)) {
      found->each([&](const auto& row) {
        const std::string rule = found->at(row, "rule");
        if (rule != "type_below_roof" && rule != "layer_below_roof") return;
        const std::string text = found->at(row, "finding");
        const double share = std::stod(text.substr(text.find(" takes ") + 7));
        const double allowed = std::stod(text.substr(text.find(" runs at ") + 9));
        EXPECT_NEAR(found->value(row, "gain_pct"), share * (1 - allowed / 100), 0.1) << text;
      });
    }
  }

  void phases_add_up(int64_t batch) {
    const auto& found = rows("training_phases", batch);
    if (!found) return;
    double phases = 0, step = 0;
    found->each([&](const auto& row) {
      (found->at(row, "phase") == "step" ? step : phases) += found->value(row, "time_ns");
    });
    EXPECT_NEAR(phases, step, close(step));
  }

  // A watched program has the same step everywhere.
  void steps_are_the_same_everywhere(int64_t batch) {
    const Table program = query("SELECT batch, is_ahead FROM program_step");
    if (program.rows.empty() || as_text(program.rows[0][0]) != std::to_string(batch)) return;
    const Place of_causes = {"time_of_step", "cause", {"step"}, "time_ns"};
    const auto step = sum(of_causes, batch);
    ASSERT_TRUE(step);
    const std::vector<Place> others = {
        {"model_summary", "item", {"step", "training step"}, "value"},
        {"training_phases", "phase", {"step"}, "time_ns"},
        {"model_information", "", {}, "step_ns"}};
    for (const Place& place : others) {
      const auto value = sum(place, batch);
      if (!value) continue;
      EXPECT_NEAR(*value, *step, close(*step)) << place.analysis;
    }
    // Processes are weighted by the number of their steps.
    const Table periods = query(
        "SELECT process, level_name(deepest_level(levels)), part, steps "
        "FROM step_periods(NULL) JOIN run USING (run_id)");
    const auto& found = rows("steps", batch);
    ASSERT_TRUE(found);
    double total = 0, steps = 0;
    for (const auto& period : periods.rows) {
      size_t told = 0;
      found->each([&](const auto& row) {
        if (found->at(row, "process") != as_text(period[0])) return;
        const bool is_of_causes = found->at(row, "level") == as_text(period[1]) &&
                                  found->at(row, "part") == as_text(period[2]);
        const double value = found->value(row, "step_ns");
        if (is_of_causes) {
          ++told;
          total += value * number(period[3]);
          steps += number(period[3]);
        } else if (as_text(program.rows[0][1]) == "true" && found->at(row, "part") != "first") {
          EXPECT_TRUE(std::isnan(value)) << "the host's starts pass for a step";
          EXPECT_EQ(found->at(row, "told_by").rfind("not told", 0), 0u);
        }
      });
      EXPECT_EQ(told, 1u);
    }
    EXPECT_NEAR(total / steps, *step, close(*step));
  }

  void the_device_works_within_spans(int64_t batch) {
    for (const char* name : {"model_information", "cost", "layer_information", "layer_latency",
                             "latency_by_layer_type", "layer_tree", "time_by_level", "hotspots"}) {
      const auto& found = rows(name, batch);
      if (!found) continue;
      ASSERT_TRUE(found->column("device_ns") && found->column("span_ns")) << name;
      found->each([&](const auto& row) {
        const double device = found->value(row, "device_ns"), span = found->value(row, "span_ns");
        if (std::isnan(span)) {
          EXPECT_TRUE(std::isnan(device) || device == 0) << name;
        } else {
          EXPECT_LE(device, span + close(span)) << name;
        }
      });
    }
  }

  void differences_are_of_what_is_shown(int64_t batch) {
    const auto& found = rows("overhead_by_level", batch);
    if (!found) return;
    found->each([&](const auto& row) {
      const double without = found->value(row, "without_ns");
      EXPECT_NEAR(found->value(row, "overhead_ns"), found->value(row, "with_ns") - without,
                  close(without));
    });
  }

  void doubts_are_said(int64_t batch) {
    const Table doubted =
        query("SELECT level_name(level), doubt, kind FROM level_doubt WHERE batch = " +
              std::to_string(batch));
    for (const auto& row : doubted.rows) {
      const std::string level = as_text(row[0]), doubt = as_text(row[1]), kind = as_text(row[2]);
      for (const analyze::Analysis& analysis : *analyze::catalogue()) {
        if (std::find(analysis.needs.begin(), analysis.needs.end(), level) ==
            analysis.needs.end()) {
          continue;
        }
        if (!rows(analysis.name, batch)) continue;
        EXPECT_TRUE(says(analysis, batch, doubt)) << analysis.name << ": " << doubt;
      }
      const char* check = kind == "unsettled"  ? "latencies settled"
                          : kind == "combined" ? "levels with runs of their own"
                                               : "levels undistorted";
      const auto& audit = rows("audit", batch);
      audit->each([&](const auto& line) {
        if (audit->at(line, "audit") == check) {
          EXPECT_EQ(audit->at(line, "status"), "not ok");
        }
      });
    }
  }

  // Returns whether a cell, or a line above the table, has the doubt.
  bool says(const analyze::Analysis& analysis, int64_t batch, const std::string& doubt) {
    const std::vector<std::string>& all = texts(analysis, batch);
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
      return one.find(doubt) != std::string::npos;
    });
  }

  // Returns the lines above the table, and its cells. An analysis is asked once for all doubts.
  const std::vector<std::string>& texts(const analyze::Analysis& analysis, int64_t batch) {
    const auto [known, is_new] = texts_.try_emplace({analysis.name, batch});
    std::vector<std::string>& all = known->second;
    const auto& found = rows(analysis.name, batch);
    if (!is_new || !found) return all;
    analyze::Parameters parameters;
    for (const analyze::Param& param : analysis.params) {
      if (param.name == "batch") parameters["batch"] = std::to_string(batch);
    }
    const auto lines = analyze::doubts(database_, analysis, parameters, found->table());
    EXPECT_TRUE(lines.ok());
    if (lines.ok()) all = *lines;
    for (const auto& row : found->table().rows) {
      for (const Value& cell : row) all.push_back(as_text(cell));
    }
    return all;
  }

  void comparison_has_the_same(int64_t batch) {
    Database* const both[] = {&database_, &database_};
    CompareOptions options;
    options.batch = batch;
    // `xsp run` tells the step of time_of_step.
    const Table program =
        query("SELECT 1 FROM program_step WHERE batch = " + std::to_string(batch));
    const auto latency = program.rows.empty()
                             ? sum(quantities()[0].places[0], batch)
                             : sum({"time_of_step", "cause", {"step"}, "time_ns"}, batch);
    if (const auto model = compare("model", both, options); model.ok()) {
      const Rows found(model->table, batch);
      found.each([&](const auto& row) {
        EXPECT_NEAR(found.value(row, "latency_a_ns"), *latency, close(*latency));
        EXPECT_NEAR(found.value(row, "latency_b_ns"), *latency, close(*latency));
        const double ratio = found.value(row, "ratio_b");
        if (!std::isnan(ratio)) {
          EXPECT_NEAR(ratio, 1, 1e-12);
        }
      });
    }
    const auto layers = compare("layers", both, options);
    if (!layers.ok()) return;
    const auto kernels = sum(quantities()[3].places[0], batch);
    const auto together = kernels ? kernels : sum(quantities()[1].places[0], batch);
    double total = 0;
    const Rows found(layers->table, batch);
    found.each([&](const auto& row) {
      const double value = found.value(row, "latency_a_ns");
      if (!std::isnan(value)) total += value;
    });
    EXPECT_NEAR(total, together.value_or(0), close(total));
  }

  std::vector<int64_t> batches_;
  std::map<std::pair<std::string, int64_t>, std::vector<std::string>> texts_;
};

class FixtureNumbers : public ::testing::TestWithParam<const char*> {};
TEST_P(FixtureNumbers, KeepTheContract) {
  const fs::path data = places::source("tests/data");
  Numbers(filled(text_of(data / (std::string(GetParam()) + ".sql"))), GetParam()).check();
}
// The steps of this program are the calls of its model, which show the model's time.
TEST(WatchedNumbers, KeepTheContract) {
  const fs::path data = places::source("tests/data");
  Numbers(filled(text_of(data / "gpu.sql") + text_of(data / "watched.sql")), "watched").check();
}
INSTANTIATE_TEST_SUITE_P(MadeUp, FixtureNumbers,
                         ::testing::Values("small", "gpu", "asynchronous", "training"),
                         [](const auto& one) { return std::string(one.param); });

TEST(RecordedNumbers, KeepTheContract) {
  Result<Database> database = Database::open(places::build("tests/data/h200_resnet50.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  Numbers(std::move(database).value(), "h200_resnet50").check();
}

class RandomNumbers : public ::testing::TestWithParam<unsigned> {};
TEST_P(RandomNumbers, KeepTheContract) {
  const std::string name = "random " + std::to_string(GetParam());
  Numbers(filled(made_evaluation(GetParam())), name).check();
}
INSTANTIATE_TEST_SUITE_P(Random, RandomNumbers, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace xsp::compare
