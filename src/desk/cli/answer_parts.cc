#include "desk/cli/answer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/sentences.h"

namespace xsp::cli {
namespace {

constexpr size_t kFindingsShown = 3;
constexpr size_t kNameWidth = 18;
constexpr size_t kBarWidth = 20;
constexpr size_t kLeastRoom = 24;  // columns beside a bar; with less, the text begins on a new line

}  // namespace

std::optional<store::Table> rows_of(store::Database& database, const char* name) {
  const auto analysis = analyze::find(name);
  if (!analysis.ok()) return std::nullopt;
  auto table = analyze::run(database, **analysis, {});
  if (!table.ok()) return std::nullopt;
  return std::move(table).value();
}

std::string time_text(double ns) {
  if (ns >= 1e9) return fmt::format("{:.2f} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.1f} us", ns / 1e3);
}

std::string rate_text(double per_s) {
  constexpr double kFourDigits = 1000;
  if (per_s < kFourDigits) return fmt::format("{:.4g}", per_s);
  const double unit = std::pow(10, std::floor(std::log10(per_s)) - 3);
  return fmt::format("{:.0f}", std::round(per_s / unit) * unit);
}

std::string share_line(const Terminal& terminal, const std::string& name, const Share& share,
                       const std::string& beside) {
  std::string drawn = bar(terminal, share.part, kBarWidth);
  std::string line = "  " + name;
  if (!name.empty()) line.append(kNameWidth - std::min(kNameWidth, width_of(name)), ' ');
  // A longer name has a line of its own.
  if (width_of(name) > kNameWidth) line += "\n" + std::string(2 + kNameWidth, ' ');
  line += fmt::format("{:>3} %  ", share.percent);
  const size_t before = (name.empty() ? 2 : 2 + kNameWidth) + 7;
  const size_t used = before + kBarWidth + 2;
  if (beside.empty()) return line + styled(terminal, Style::kBar, drawn) + "\n";
  if (terminal.width < used + kLeastRoom) {
    constexpr size_t kIndent = 6;
    return line + styled(terminal, Style::kBar, drawn) + "\n" +
           wrapped(std::string(kIndent, ' ') + beside, terminal.width, kIndent);
  }
  drawn.append(kBarWidth - std::min(kBarWidth, width_of(drawn)), ' ');
  std::string text = wrapped(beside, terminal.width - used, 0);
  for (size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    text.insert(at + 1, used, ' ');
  }
  return line + styled(terminal, Style::kBar, drawn) + "  " + text;
}

std::string best_findings(store::Database& database, const Terminal& terminal) {
  const auto table = rows_of(database, "findings");
  if (!table) return {};
  const Result<std::string> unit = unit_of_findings(database);
  if (!unit.ok()) return {};
  std::string text;
  size_t number = 0;
  for (size_t i = 0; i < table->rows.size() && number < kFindingsShown; ++i) {
    const Row row(*table, i);
    if (row.text("rule") == "doubt") {
      text +=
          wrapped("note: " + row.text("finding") + " " + row.text("advice"), terminal.width, 6) +
          "\n";
    }
    if (!is_finding(row)) continue;
    text += wrapped(fmt::format("{}. {} {}", ++number, with_bound(row, *unit), row.text("advice")),
                    terminal.width, 3);
  }
  if (number > 0) return text;
  text += wrapped("No rule found anything that would gain 1 % of " + *unit + " or more.",
                  terminal.width, 0);
  for (size_t i = 0; i < table->rows.size(); ++i) {
    const Row row(*table, i);
    if (row.text("rule") == "unasked") text += wrapped(row.text("finding"), terminal.width, 0);
  }
  return text;
}

}  // namespace xsp::cli
