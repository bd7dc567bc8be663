// Reads the tables in which CPython finds the line of an instruction. The version's
// Objects/lnotab_notes.txt or Objects/locations.md describes each form.
#include "shared/trace/stacks.h"
#include "shared/trace/varint.h"

namespace xsp::trace {
namespace {

using Table = std::span<const uint8_t>;

// Up to 3.9: pairs of (bytes of code, lines) that lead from one line's beginning to the next.
int64_t line_by_steps(Table table, int64_t line, int64_t offset) {
  int64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// 3.10: pairs of (bytes of code, lines): the next so many bytes of code are so many lines further
// on.
int64_t line_by_ranges(Table table, int64_t line, int64_t offset) {
  constexpr int8_t kNoLine = -128;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto lines = static_cast<int8_t>(table[i + 1]);
    if (lines != kNoLine) line += lines;
    end += table[i];
    if (offset < end) return lines == kNoLine ? 0 : line;
  }
  return 0;
}

// From 3.11 on: each entry begins with a byte whose highest bit is set. It holds a code for the
// rest of the entry, and the number of instructions that the entry covers.
class Locations {
 public:
  explicit Locations(Table table) : table_(table) {}

  int64_t line_at(int64_t line, int64_t instruction) {
    int64_t end = 0;
    while (at_ < table_.size()) {
      const uint8_t first = table_[at_++];
      const int code = first >> 3 & 15;
      end += (first & 7) + 1;
      const bool has_line = code != kNone;
      line += lines_of(code);
      while (at_ < table_.size() && (table_[at_] & 0x80) == 0) ++at_;
      if (instruction < end) return has_line ? line : 0;
    }
    return 0;
  }

 private:
  static constexpr int kOneLineFirst = 10;  // the same line, or one or two lines further on
  static constexpr int kOneLineLast = 12;
  static constexpr int kNoColumns = 13;
  static constexpr int kLong = 14;
  static constexpr int kNone = 15;

  int64_t lines_of(int code) {
    if (code >= kOneLineFirst && code <= kOneLineLast) return code - kOneLineFirst;
    return code == kNoColumns || code == kLong ? signed_number() : 0;
  }
  // Each byte has six bits of the number, the lowest first; the lowest bit of all is the sign.
  int64_t signed_number() {
    uint64_t value = 0;
    for (int shift = 0; at_ < table_.size() && shift < 60; shift += 6) {
      const uint8_t byte = table_[at_++];
      value |= uint64_t{byte & 63u} << shift;
      if ((byte & 64) == 0) break;
    }
    const auto magnitude = static_cast<int64_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

  Table table_;
  size_t at_ = 0;
};

int64_t find_line(LinesForm form, Table table, int64_t first_line, int64_t instruction) {
  if (instruction < 0) return first_line;
  switch (form) {
    case LinesForm::kBefore310:
      return line_by_steps(table, first_line, instruction);
    case LinesForm::k310:
      return line_by_ranges(table, first_line, 2 * instruction);
    case LinesForm::kFrom311:
      return Locations(table).line_at(first_line, instruction);
    case LinesForm::kNone:
      break;
  }
  return first_line;
}

}  // namespace

int line_of(LinesForm form, Table table, int first_line, int64_t instruction) {
  const int64_t line = find_line(form, table, first_line, instruction);
  return line > 0 && line <= INT32_MAX ? static_cast<int>(line) : 0;
}

}  // namespace xsp::trace
