#include "desk/cli/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "desk/cli/answer_parts.h"
#include "desk/cli/sentences.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

constexpr size_t kCulpritsShown = 2;
constexpr size_t kLinesShown = 5;
constexpr double kLeastCulpritShare = 0.15;  // of a cause; culprits with less are not named

struct Cause {
  std::string name;
  double ns = 0;
  std::vector<std::string> culprits;
};

// Returns text like "save (train.py:12)".
std::string culprit_of(const Row& row) {
  const std::string name = row.text("culprit");
  const std::string place = row.text("place");
  if (name.empty() || place.empty()) return name + place;
  return name + " (" + place + ")";
}

// The rows are sorted by cause, and then by time, the largest first.
std::vector<Cause> causes_of(const store::Table& table, double* step_ns) {
  std::vector<Cause> causes;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row row(table, i);
    if (row.text("cause") == "step") {
      *step_ns = row.number("time_ns");
      continue;
    }
    if (causes.empty() || causes.back().name != row.text("cause")) {
      causes.push_back({row.text("cause"), 0, {}});
    }
    causes.back().ns += row.number("time_ns");
  }
  for (Cause& cause : causes) {
    for (size_t i = 0; i < table.rows.size(); ++i) {
      const Row row(table, i);
      if (row.text("cause") != cause.name || cause.culprits.size() == kCulpritsShown) continue;
      const std::string culprit = culprit_of(row);
      if (culprit.empty() || row.number("time_ns") < kLeastCulpritShare * cause.ns) continue;
      cause.culprits.push_back(culprit);
    }
  }
  return causes;
}

std::string step_text(double step_ns) {
  return fmt::format("A step takes {}: {} in a second, made of:", time_text(step_ns),
                     rate_text(1e9 / step_ns));
}

// Returns a line for each cause, with its share of `whole_ns`.
std::string cause_lines(const std::vector<Cause>& causes, double whole_ns,
                        const Terminal& terminal) {
  std::vector<double> parts;
  for (const Cause& cause : causes) parts.push_back(cause.ns / whole_ns);
  const std::vector<Share> shares = shares_of(parts);
  std::string text;
  for (size_t i = 0; i < causes.size(); ++i) {
    text += share_line(terminal, causes[i].name, shares[i], joined(causes[i].culprits));
  }
  return text;
}

// Returns the lines of the program at which its threads ran most, for a program without repeating
// steps.
std::string lines_text(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "functions");
  if (!table || table->rows.empty()) return {};
  std::string text =
      "\n" + wrapped(
                 "No steps were seen (xsp.step() or xsp_step() marks them). The time of all "
                 "threads that ran, by line of the program:",
                 terminal.width, 0);
  std::vector<size_t> order(table->rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return Row(*table, a).number("running_pct") > Row(*table, b).number("running_pct");
  });
  std::vector<Cause> lines;
  double rest = 1;
  for (size_t i = 0; i < std::min(kLinesShown, order.size()); ++i) {
    const Row row(*table, order[i]);
    const double share = row.number("running_pct") / 100;
    if (share < kLeastShare) break;
    const std::string place = row.text("place");
    const std::string calls = row.text("calls");
    Cause line{"", share, {}};
    line.culprits.push_back(row.text("function") + (place.empty() ? "" : " (" + place + ")") +
                            (calls.empty() ? "" : ", in " + calls));
    lines.push_back(std::move(line));
    rest -= share;
  }
  // Rounding alone leaves less.
  constexpr double kRounding = 1e-9;
  if (rest > kRounding) lines.push_back({"", rest, {"the rest"}});
  return text + cause_lines(lines, 1, terminal);
}

}  // namespace

Answer answer_of(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "time_of_step");
  if (!table || table->rows.empty()) return {lines_text(database, terminal), false};
  double step_ns = 0;
  const std::vector<Cause> causes = causes_of(*table, &step_ns);
  if (step_ns <= 0) return {};
  std::string text = "\n" + wrapped(step_text(step_ns), terminal.width, 0);
  std::vector<Cause> shown;
  Cause other{"other causes", 0, {}};
  for (const Cause& cause : causes) {
    if (cause.ns < kLeastShare * step_ns) {
      other.ns += cause.ns;
    } else {
      shown.push_back(cause);
    }
  }
  if (other.ns > 0) shown.push_back(other);
  text += cause_lines(shown, step_ns, terminal);
  return {text + "\n" + best_findings(database, terminal), true};
}

}  // namespace xsp::cli
