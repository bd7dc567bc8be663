#include "desk/cli/model_answer.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "desk/cli/answer_parts.h"
#include "desk/cli/sentences.h"
#include "desk/cli/units.h"

namespace xsp::cli {
namespace {

constexpr size_t kLargestShown = 2;    // layers, or causes, beside a bar
constexpr double kLeastLargest = 0.1;  // of the part; with less, one is not named
constexpr double kLeastCost = 0.01;    // of the latency; a smaller cost is not told

// Returns the columns LOW and HIGH as " (24.1 to 26.2 ms)"; empty: there is no interval.
std::string interval_of(const Row& row, const char* low, const char* high) {
  double from = 0, to = 0;
  if (!as_number(row.cell(low), &from) || !as_number(row.cell(high), &to)) return {};
  return fmt::format(" ({} to {})", time_text(from), time_text(to));
}

// Returns a sentence for each batch size.
std::string latency_text(const store::Table& table, const Terminal& terminal) {
  std::string text;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    const bool is_step = !row.text("step_ns").empty();
    const std::string time = is_step ? "step_ns" : "latency_ns";
    const std::string interval = is_step ? interval_of(row, "step_low_ns", "step_high_ns")
                                         : interval_of(row, "low_ns", "high_ns");
    const std::string batch = row.text("batch");
    const std::string of = row.text("throughput_of");
    const bool has_rate = !row.text("throughput_per_s").empty();
    text += wrapped(
        fmt::format("{}{} takes {}{}: {}.", batch.empty() ? "" : "Batch " + batch + ": ",
                    is_step ? (batch.empty() ? "A step" : "a step")
                            : (batch.empty() ? "An inference" : "an inference"),
                    time_text(row.number(time)), interval,
                    has_rate ? rate_text(row.number("throughput_per_s")) + " " + of + " in a second"
                             : "inputs in a second: " + of),
        terminal.width, 3);
  }
  return text;
}

double share_of(const Row& row) { return row.number("share_pct") / 100; }

// Returns the number of layers of a type, and the names of the largest.
std::string beside(const store::Table& table, const Row& part, const Share& share) {
  std::string text = part.text("is_rest") == "true" ? "" : part.text("detail");
  std::vector<Row> inside;
  std::vector<double> parts;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    const bool is_inside = row.text("level") == "layer" || row.text("level") == "idle";
    if (!is_inside || row.text("parent") != part.text("name")) continue;
    inside.push_back(row);
    parts.push_back(share_of(row));
  }
  const std::vector<Share> shares = shares_within(share, parts);
  size_t shown = 0;
  for (size_t i = 0; i < inside.size() && shown < kLargestShown; ++i) {
    if (shares[i].part < kLeastLargest * share.part) continue;
    ++shown;
    text += (text.empty() ? "" : ", ") + inside[i].text("name") +
            fmt::format(" {} %", shares[i].percent);
  }
  return text;
}

// The rows of a part are sorted by their share, the largest first.
std::string parts_text(const store::Table& table, const Terminal& terminal) {
  std::string text, batch, cost;
  double other = 0, latency_ns = 0;
  size_t others = 0;
  std::vector<Row> shown;
  std::vector<double> parts;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    if (row.text("level") == "model") {
      batch = row.text("batch");
      latency_ns = row.number("latency_ns");
    }
    if (row.text("level") != "layer type") continue;
    if (row.text("share_pct").empty()) {
      const bool is_told = row.text("latency_ns").empty() ||
                           std::abs(row.number("latency_ns")) > kLeastCost * latency_ns;
      if (!is_told) continue;
      std::string detail = row.text("detail");
      // The name labels a line of a sum, which this is not.
      if (row.text("name") == "less the cost of recording") {
        cost += "The shares are of an inference whose layers are recorded: " + detail + ". ";
      } else {
        cost += row.text("name") + ": " + detail + ". ";
      }
    } else if (const double share = share_of(row); share < kLeastShare) {
      other += share;
      ++others;
    } else {
      shown.push_back(row);
      parts.push_back(share);
    }
  }
  if (others > 0) parts.push_back(other);
  const std::vector<Share> shares = shares_of(parts);
  for (size_t i = 0; i < shown.size(); ++i) {
    text +=
        share_line(terminal, shown[i].text("name"), shares[i], beside(table, shown[i], shares[i]));
  }
  if (others > 0) {
    text += share_line(terminal, "the rest", shares.back(),
                       fmt::format("{} part{}", others, others == 1 ? "" : "s"));
  }
  const std::string title =
      batch.empty() ? "An inference is made of:" : "At batch " + batch + ", it is made of:";
  if (!text.empty()) text = wrapped(title, terminal.width, 0) + text;
  return text + (cost.empty() ? "" : wrapped("  " + cost, terminal.width, 2));
}

}  // namespace

std::string model_answer(store::Database& database, const Terminal& terminal) {
  std::string text;
  if (const auto latencies = rows_of(database, "model_information")) {
    text += latency_text(*latencies, terminal) + "\n";
  }
  if (const auto parts = rows_of(database, "time_by_level")) {
    text += parts_text(*parts, terminal) + "\n";
  }
  const std::string findings = best_findings(database, terminal);
  return text + findings + (findings.empty() ? "" : "\n");
}

}  // namespace xsp::cli
