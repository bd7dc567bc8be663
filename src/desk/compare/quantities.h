// For tests: the places where each figure is shown, and access to the rows of an analysis.
#ifndef XSP_DESK_COMPARE_QUANTITIES_H_
#define XSP_DESK_COMPARE_QUANTITIES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/store/database.h"
#include "desk/store/testing.h"

namespace xsp::compare {

using store::number;
using store::Table;
using store::Value;

inline std::string as_text(const Value& value) {
  if (const auto* one = std::get_if<std::string>(&value)) return *one;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::isnan(number(value)) ? "" : std::to_string(static_cast<int64_t>(number(value)));
}

// The rows of one analysis at one batch size.
class Rows {
 public:
  Rows(Table table, int64_t batch) : table_(std::move(table)), batch_(std::to_string(batch)) {}

  const Table& table() const { return table_; }
  std::optional<size_t> column(const std::string& name) const {
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].name == name) return i;
    }
    return std::nullopt;
  }
  // Calls `see` for the rows of the batch size, if there is such a column, else for all rows.
  void each(const std::function<void(const std::vector<Value>&)>& see) const {
    const auto batch = column("batch");
    for (const auto& row : table_.rows) {
      if (!batch || as_text(row[*batch]) == batch_) see(row);
    }
  }
  std::string at(const std::vector<Value>& row, const std::string& name) const {
    const auto found = column(name);
    return found ? as_text(row[*found]) : "";
  }
  double value(const std::vector<Value>& row, const std::string& name) const {
    const auto found = column(name);
    return found ? number(row[*found]) : std::nan("");
  }

 private:
  Table table_;
  std::string batch_;
};

// A place where a quantity is shown: the sum of a column over the rows that pass a filter.
struct Place {
  const char* analysis;
  const char* filter_column;            // empty: every row
  std::vector<const char*> filter_any;  // the row's text is one of these
  const char* column;
};
struct Quantity {
  const char* name;
  std::vector<Place> places;
};

inline const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = {
      {"latency of the model",
       {{"model_information", "", {}, "latency_ns"},
        {"model_summary", "item", {"latency", "call of the model"}, "value"},
        {"cost", "", {}, "latency_ns"},
        {"kernels_in_model", "", {}, "model_latency_ns"},
        {"time_by_level", "level", {"model"}, "latency_ns"}}},
      {"layers together",
       {{"layer_information", "", {}, "self_ns"},
        {"latency_by_layer_type", "", {}, "latency_ns"},
        {"model_summary", "item", {"layers together"}, "value"}}},
      {"latencies of the layers",
       {{"layer_information", "", {}, "latency_ns"}, {"layer_latency", "", {}, "latency_ns"}}},
      {"time of the kernels",
       {{"kernel_information", "", {}, "latency_ns"},
        {"kernels_by_name", "", {}, "latency_ns"},
        {"kernels_by_layer", "", {}, "kernel_latency_ns"},
        {"kernels_in_model", "", {}, "kernel_latency_ns"},
        {"time_by_level", "level", {"kernel"}, "latency_ns"}}},
      {"time of the device",
       {{"model_information", "", {}, "device_ns"},
        {"model_summary", "item", {"device time"}, "value"},
        {"cost", "", {}, "device_ns"},
        {"time_by_level", "level", {"model"}, "device_ns"}}},
      {"span of the model's call",
       {{"model_information", "", {}, "span_ns"},
        {"model_summary", "item", {"span"}, "value"},
        {"cost", "", {}, "span_ns"},
        {"time_by_level", "level", {"model"}, "span_ns"}}},
      {"time of the device in the layers",
       {{"layer_information", "", {}, "device_ns"}, {"layer_latency", "", {}, "device_ns"}}},
      {"spans of the layers",
       {{"layer_information", "", {}, "span_ns"}, {"layer_latency", "", {}, "span_ns"}}},
      {"flops that were counted",
       {{"kernel_information", "", {}, "flops"},
        {"kernels_by_name", "", {}, "flops"},
        {"counters_by_layer", "", {}, "flops"},
        {"kernels_in_model", "", {}, "flops"}}},
      {"flops by the shapes",
       {{"layer_flops", "", {}, "flops"}, {"dominant_third", "", {}, "flops"}}},
      {"less the cost of recording",
       {{"model_summary", "item", {"less the cost of recording"}, "value"},
        {"time_by_level", "name", {"less the cost of recording"}, "latency_ns"}}},
  };
  return all;
}

// Asks one evaluation, and keeps the answers.
class Answers {
 protected:
  Answers(store::Database database, std::string name)
      : database_(std::move(database)), name_(std::move(name)) {
    EXPECT_TRUE(analyze::load_prelude(database_).ok());
  }

  Table query(const std::string& sql) {
    Result<Table> table = database_.query(sql);
    EXPECT_TRUE(table.ok()) << name_ << ": " << (table.ok() ? "" : table.error().text);
    return table.ok() ? std::move(table).value() : Table();
  }

  // Nothing: not measured.
  const std::optional<Rows>& rows(const std::string& name, int64_t batch) {
    auto& known = answers_[{name, batch}];
    if (known) return *known;
    known.emplace();
    const Result<const analyze::Analysis*> analysis = analyze::find(name);
    EXPECT_TRUE(analysis.ok()) << name;
    if (!analysis.ok()) return *known;
    analyze::Parameters parameters;
    for (const analyze::Param& param : (*analysis)->params) {
      if (param.name == "batch") parameters["batch"] = std::to_string(batch);
    }
    Result<Table> table = analyze::run(database_, **analysis, parameters);
    if (table.ok()) {
      known->emplace(std::move(table).value(), batch);
    } else {
      EXPECT_EQ(table.error().code, Code::kNotAvailable) << name << ": " << table.error().text;
    }
    return *known;
  }

  static double close(double value) { return 1e-9 * std::abs(value) + 1e-3; }

  std::optional<double> sum(const Place& place, int64_t batch) {
    const auto& found = rows(place.analysis, batch);
    if (!found) return std::nullopt;
    std::optional<double> total;
    found->each([&](const auto& row) {
      const std::string key =
          std::string(place.filter_column) == "added_and_event"
              ? found->at(row, "added_level") + " " + found->at(row, "event_level")
              : found->at(row, place.filter_column);
      bool fits = place.filter_any.empty();
      for (const char* one : place.filter_any) fits = fits || key == one;
      const double value = found->value(row, place.column);
      if (fits && !std::isnan(value)) total = total.value_or(0) + value;
    });
    return total;
  }

  store::Database database_;
  std::string name_;

 private:
  std::map<std::pair<std::string, int64_t>, std::optional<std::optional<Rows>>> answers_;
};

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_QUANTITIES_H_
