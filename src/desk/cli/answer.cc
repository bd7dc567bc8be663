#include "desk/cli/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/sentences.h"

namespace xsp::cli {
namespace {

constexpr size_t kFindingsShown = 3;
constexpr size_t kCulpritsShown = 2;
constexpr size_t kLinesShown = 5;
constexpr double kLeastShare = 0.01;         // of a step; causes with less are not shown
constexpr double kLeastCulpritShare = 0.15;  // of a cause; culprits with less are not named
constexpr size_t kCauseWidth = 18;
constexpr size_t kBarWidth = 20;

std::optional<store::Table> rows_of(store::Database& database, const char* name) {
  const auto analysis = analyze::find(name);
  if (!analysis.ok()) return std::nullopt;
  auto table = analyze::run(database, **analysis, {});
  if (!table.ok()) return std::nullopt;
  return std::move(table).value();
}

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

std::string time_text(double ns) {
  if (ns >= 1e9) return fmt::format("{:.2f} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.1f} us", ns / 1e3);
}

std::string step_text(double step_ns) {
  return fmt::format("A step takes {}: {:.4g} in a second, made of:", time_text(step_ns),
                     1e9 / step_ns);
}

std::string cause_line(const Cause& cause, double step_ns, const Terminal& terminal) {
  const double share = cause.ns / step_ns;
  std::string culprits;
  for (const std::string& one : cause.culprits) culprits += (culprits.empty() ? "" : ", ") + one;
  std::string drawn = bar(terminal, share, kBarWidth);
  drawn.append(kBarWidth - std::min(kBarWidth, width_of(drawn)), ' ');
  const std::string line = fmt::format("  {:<{}}{:>3.0f} %  ", cause.name,
                                       cause.name.empty() ? 0 : kCauseWidth, 100 * share);
  const size_t used = width_of(line) + kBarWidth + 2;
  const size_t room = terminal.width > used + 8 ? terminal.width - used : 8;
  std::string beside = wrapped(culprits, room, 0);  // further lines begin below the first
  if (beside.empty()) beside = "\n";
  for (size_t at = beside.find('\n'); at + 1 < beside.size(); at = beside.find('\n', at + 1)) {
    beside.insert(at + 1, used, ' ');
  }
  return line + styled(terminal, Style::kBar, drawn) + "  " + beside;
}

std::string findings_text(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "findings");
  if (!table) return {};
  const Result<std::string> unit = unit_of_findings(database);
  if (!unit.ok()) return {};
  std::string text;
  size_t number = 0;
  for (size_t i = 0; i < table->rows.size() && number < kFindingsShown; ++i) {
    const Row row(*table, i);
    if (!is_finding(row)) continue;
    text += wrapped(fmt::format("{}. {} {}", ++number, with_bound(row, *unit), row.text("advice")),
                    terminal.width, 3);
  }
  return text;
}

// Returns the lines of the program that took most of its threads' time, for a program without
// repeating steps.
std::string lines_text(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "functions");
  if (!table || table->rows.empty()) return {};
  std::string text =
      "\n" + wrapped(
                 "No steps were seen (xsp.step() or xsp_step() marks them). The time of all "
                 "threads that ran, by line of the program:",
                 terminal.width, 0);
  for (size_t i = 0; i < std::min(kLinesShown, table->rows.size()); ++i) {
    const Row row(*table, i);
    const double share = row.number("share_pct") / 100;
    if (share < kLeastShare) break;
    const std::string place = row.text("place");
    const std::string calls = row.text("calls");
    Cause line{"", share, {}};
    line.culprits.push_back(row.text("function") + (place.empty() ? "" : " (" + place + ")") +
                            (calls.empty() ? "" : ", in " + calls));
    text += cause_line(line, 1, terminal);
  }
  return text;
}

}  // namespace

Answer answer_of(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "time_of_step");
  if (!table || table->rows.empty()) return {lines_text(database, terminal), false};
  double step_ns = 0;
  const std::vector<Cause> causes = causes_of(*table, &step_ns);
  if (step_ns <= 0) return {};
  std::string text = "\n" + wrapped(step_text(step_ns), terminal.width, 0);
  Cause other{"other causes", 0, {}};
  for (const Cause& cause : causes) {
    if (cause.ns < kLeastShare * step_ns) {
      other.ns += cause.ns;
    } else {
      text += cause_line(cause, step_ns, terminal);
    }
  }
  if (other.ns > 0) text += cause_line(other, step_ns, terminal);
  return {text + "\n" + findings_text(database, terminal), true};
}

}  // namespace xsp::cli
