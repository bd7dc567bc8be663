// The numbers of a table's row: of a file of comma-separated values with a line of names and one
// line of values (RFC 4180).
//
// Each name in `names` is a column and gives one number. NAME=A|B|C is a column of words: it gives
// a number for each of them, 1 for the word that the row has and 0 for the others.
#include <charconv>
#include <cmath>
#include <optional>

#include "pipelines/shared/step.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::pipelines {
namespace {

using Line = std::vector<std::string>;

constexpr size_t kLinesMax = 2;  // of names, and of values

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// Returns the lines' fields. A quoted field may have separators, line ends and doubled quotes.
Result<std::vector<Line>> lines_of(std::string_view text, char separator) {
  std::vector<Line> lines;
  Line line = {""};
  bool is_quoted = false;
  const auto end_line = [&] {
    if (line.size() > 1 || !trimmed(line[0]).empty()) lines.push_back(line);
    line = {""};
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      line.back() += text[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      line.back() += c;
    } else if (c == separator) {
      line.emplace_back();
    } else if (c == '\n') {
      end_line();
    } else if (c != '\r') {
      line.back() += c;
    }
  }
  if (is_quoted) return failed("a quoted field does not end: close its quotation mark");
  end_line();
  return lines;
}

// A column that is wanted.
struct Column {
  std::string name;
  std::vector<std::string> words;  // none: it has numbers
};

class Columns : public Step {
 public:
  explicit Columns(Parameters& parameters)
      : separator_(
            separator_of(parameters.word("separator", {"comma", "semicolon", "tab"}, "comma"))) {
    for (const std::string& part : split(parameters.text("names"), ',')) {
      const size_t equals = part.find('=');
      Column& column = columns_.emplace_back();
      column.name = trimmed(part.substr(0, equals));
      if (equals != std::string::npos) {
        for (const std::string& word : split(part.substr(equals + 1), '|')) {
          column.words.push_back(trimmed(word));
        }
      }
      if (column.name.empty()) parameters.refuse("names", "a name is empty: write each column's");
      size_ += column.words.empty() ? 1 : static_cast<int64_t>(column.words.size());
    }
    if (columns_.empty()) parameters.refuse("names", "no name: write each column's");
    if (parameters.has("missing")) missing_ = parameters.number("missing");
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kBytes) return usage("bytes: make it the first step, and from: table");
    return tensor_type(XSP_FLOAT32, {size_});
  }

  Result<Value> run(Value value) override {
    std::string_view text(reinterpret_cast<const char*>(value.data.data()), value.data.size());
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    XSP_TRY(const std::vector<Line> lines, lines_of(text, separator_));
    if (lines.size() != kLinesMax) {
      return failed("it has " + std::to_string(lines.size()) +
                    " lines: a request gives a line of names and a line of values");
    }
    if (lines[0].size() != lines[1].size()) {
      return failed("it has " + std::to_string(lines[0].size()) + " names and " +
                    std::to_string(lines[1].size()) + " values: give a value for each name");
    }
    Value result = zeros(tensor_type(XSP_FLOAT32, {size_}));
    auto next = result.as<float>().begin();
    for (const Column& column : columns_) {
      XSP_TRY(const std::string cell, cell_of(column.name, lines));
      XSP_TRY(next, put(column, cell, next));
    }
    return result;
  }

 private:
  using Place = std::span<float>::iterator;

  static char separator_of(const std::string& name) {
    return name == "comma" ? ',' : name == "tab" ? '\t' : ';';
  }

  static Result<std::string> cell_of(const std::string& name, const std::vector<Line>& lines) {
    Line names;
    for (size_t i = 0; i < lines[0].size(); ++i) {
      if (trimmed(lines[0][i]) == name) return trimmed(lines[1][i]);
      names.push_back(trimmed(lines[0][i]));
    }
    return failed("it has no column '" + name +
                  "': " + did_you_mean(name, names, "it has " + joined(names)));
  }

  Result<Place> put(const Column& column, const std::string& cell, Place next) const {
    if (!column.words.empty()) return put_word(column, cell, next);
    double number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    const bool is_number = error == std::errc() && end == cell.data() + cell.size();
    if (is_number && std::isfinite(number)) {
      *next = static_cast<float>(number);
    } else if (cell.empty() && missing_) {
      *next = static_cast<float>(*missing_);
    } else {
      return failed("column '" + column.name + "': '" + cell + "' is not a number" +
                    (cell.empty() ? ": say with 'missing' what stands for it" : ""));
    }
    return next + 1;
  }

  // A word that is missing has zeros alone, where something may be missing.
  Result<Place> put_word(const Column& column, const std::string& cell, Place next) const {
    for (size_t i = 0; i < column.words.size(); ++i) {
      if (column.words[i] == cell) {
        next[static_cast<std::ptrdiff_t>(i)] = 1;
        return next + static_cast<std::ptrdiff_t>(column.words.size());
      }
    }
    if (cell.empty() && missing_) return next + static_cast<std::ptrdiff_t>(column.words.size());
    return failed("column '" + column.name + "': '" + cell + "' is none of " +
                  joined(column.words));
  }

  const char separator_;
  std::vector<Column> columns_;
  int64_t size_ = 0;
  std::optional<double> missing_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Columns>(parameters); }

}  // namespace

StepKind columns_step() {
  return {
      "columns", "Numbers of a table's row, as float32.",
      "names: the columns; of one with words NAME=A|B|C, which gives a 1 for the word; missing: "
      "the number for an empty cell; separator: comma, semicolon or tab",
      make};
}

}  // namespace xsp::pipelines
