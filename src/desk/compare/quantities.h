// For tests: the places where each figure is shown, and access to the rows of an analysis.
#ifndef XSP_DESK_COMPARE_QUANTITIES_H_
#define XSP_DESK_COMPARE_QUANTITIES_H_

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desk/store/database.h"

namespace xsp::analyze {

using store::Table;
using store::Value;

inline double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nan("");
}

inline std::string text(const Value& value) {
  if (const auto* one = std::get_if<std::string>(&value)) return *one;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::isnan(number(value)) ? "" : std::to_string(static_cast<int64_t>(number(value)));
}

// The rows of one analysis at one batch size.
class Rows {
 public:
  Rows(Table table, int64_t batch) : table_(std::move(table)), batch_(std::to_string(batch)) {}

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
      if (!batch || text(row[*batch]) == batch_) see(row);
    }
  }
  std::string at(const std::vector<Value>& row, const std::string& name) const {
    const auto found = column(name);
    return found ? text(row[*found]) : "";
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
      {"what recording the layers adds",
       {{"model_summary", "item", {"slower when recorded"}, "value"},
        {"overhead_by_level", "added_and_event", {"layer model"}, "overhead_ns"}}},
  };
  return all;
}

}  // namespace xsp::analyze

#endif  // XSP_DESK_COMPARE_QUANTITIES_H_
