#include "desk/analyze/ask.h"

#include "desk/analyze/prelude_load.h"
#include "desk/store/stream.h"

namespace xsp::analyze {
namespace {

// A column of truth values is one, a column of numbers has the unit that its name ends in, and any
// other is text.
std::string unit_of(const store::Table& table, size_t column) {
  bool is_number = false;
  for (const auto& row : table.rows) {
    if (std::holds_alternative<std::string>(row[column])) return "text";
    if (std::holds_alternative<bool>(row[column])) return "bool";
    is_number = is_number || !std::holds_alternative<std::monostate>(row[column]);
  }
  return unit_of_name(table.columns[column].name, is_number);
}

size_t size_of(const std::vector<store::Value>& row) {
  size_t bytes = 0;
  for (const store::Value& cell : row) {
    const auto* text = std::get_if<std::string>(&cell);
    bytes += sizeof cell + (text == nullptr ? 0 : text->size());
  }
  return bytes;
}

}  // namespace

Result<Asked> ask(store::Database& database, std::string_view sql, size_t rows, size_t bytes) {
  XSP_CHECK_OK(load_prelude_for(database, sql));
  Asked asked;
  size_t taken = 0;
  const store::TakeRow take = [&](std::vector<store::Value>& row) -> Status {
    taken += size_of(row);
    asked.is_cut = asked.table.rows.size() >= rows || taken > bytes;
    if (asked.is_cut) return failed("SQL: more rows than an answer has");
    asked.table.rows.push_back(std::move(row));
    return Ok{};
  };
  const Status status = store::stream(database, sql, &asked.table.columns, take);
  if (!status.ok() && !asked.is_cut) return status.error();
  for (size_t i = 0; i < asked.table.columns.size(); ++i) {
    asked.columns.push_back({asked.table.columns[i].name, unit_of(asked.table, i), ""});
  }
  return asked;
}

std::string unit_of_name(std::string_view name, bool is_number) {
  if (!is_number) return "text";
  std::string_view best;
  size_t longest = 0;
  for (const Unit& unit : units()) {
    if (unit.suffix.size() > longest && unit.ends(name)) {
      best = unit.name;
      longest = unit.suffix.size();
    }
  }
  return longest == 0 ? "number" : std::string(best);
}

}  // namespace xsp::analyze
