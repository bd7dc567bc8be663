#include "desk/cli/table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "desk/cli/units.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

using store::Value;

constexpr size_t kGap = 2;       // between columns
constexpr size_t kTextMin = 10;  // a text column is not shortened below this width
constexpr size_t kBarMin = 8;
constexpr size_t kBarMax = 24;
constexpr size_t kTopDefault = 40;

// One column as text, and its numbers for the bars.
struct TextColumn {
  std::string label;
  std::string unit;
  bool is_text = false;
  std::vector<std::string> cells;
  std::vector<double> numbers;  // NaN: not a number
  size_t width = 0;
  size_t full_width = 0;           // of the widest cell
  std::vector<std::string> names;  // of a column of texts: the cells, shortened to the width
};

struct Page {
  std::vector<size_t> rows;           // rows of the table, in the order shown
  std::vector<TextColumn> columns;    // shown
  std::vector<std::string> missing;   // columns without any value
  std::vector<std::string> left_out;  // columns for which there is no room
  std::optional<size_t> bars;         // index in `columns`
  std::string caption;
  std::string footer;
};

std::string option(const Sheet& sheet, const std::string& key) {
  const auto found = sheet.view.options.find(key);
  return found == sheet.view.options.end() ? std::string() : found->second;
}

std::optional<size_t> column_index(const Sheet& sheet, std::string_view name) {
  for (size_t i = 0; i < sheet.columns.size(); ++i) {
    if (sheet.columns[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<size_t> column_indexes(const Sheet& sheet, const std::string& list) {
  std::vector<size_t> indexes;
  for (const std::string& name : split(list, ',')) {
    if (const auto index = column_index(sheet, name)) indexes.push_back(*index);
  }
  return indexes;
}

double number_at(const Sheet& sheet, size_t row, size_t column) {
  double number = std::nan("");
  as_number(sheet.table.rows[row][column], &number);
  return number;
}

// Returns the text of a cell of a text column, on one line.
std::string plain_cell(const Value& value) {
  std::string text = raw_text(value);
  if (const auto* flag = std::get_if<bool>(&value)) text = *flag ? "yes" : "no";
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) < ' ') || c == '\x7f'; }, ' ');
  return text;
}

bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

// Another column names the unit of each cell, which gives the cell's scale.
void fill_by_row(const Sheet& sheet, const Page& page, size_t index, size_t unit_index,
                 TextColumn* column) {
  for (const size_t row : page.rows) {
    double number = 0;
    const Value& value = sheet.table.rows[row][index];
    if (!as_number(value, &number)) {
      column->cells.push_back(plain_cell(value));
      column->numbers.push_back(std::nan(""));
      continue;
    }
    const Scale scale(raw_text(sheet.table.rows[row][unit_index]), {number});
    const std::string gap = scale.label().empty() || scale.label() == "%" ? "" : " ";
    column->cells.push_back(scale.text(number) + gap + scale.label());
    column->numbers.push_back(number);
  }
}

// Holds the values of other columns on which the unit of a column depends.
struct Beside {
  double largest = 0;
  std::vector<double> sides;  // see Scale
};

void fill(const Sheet& sheet, const Page& page, size_t index, const Beside& beside,
          TextColumn* column) {
  const analyze::Column& about = sheet.columns[index];
  column->is_text = about.unit == "text" || about.unit == "bool";
  if (about.unit.starts_with("by:")) {
    column->label = label_of_name(about.name, "");
    if (const auto unit = column_index(sheet, about.unit.substr(3))) {
      fill_by_row(sheet, page, index, *unit, column);
    }
    return;
  }
  column->label = sheet.is_answer ? about.name : label_of_name(about.name, about.unit);
  std::vector<double> numbers;
  for (const size_t row : page.rows) numbers.push_back(number_at(sheet, row, index));
  const Scale scale(about.unit, numbers, beside.largest, beside.sides);
  const bool has_number = std::any_of(numbers.begin(), numbers.end(),
                                      [](double number) { return !std::isnan(number); });
  if (!column->is_text && has_number) column->unit = scale.label();
  for (size_t i = 0; i < page.rows.size(); ++i) {
    const Value& value = sheet.table.rows[page.rows[i]][index];
    const bool is_number = !std::isnan(numbers[i]) && !column->is_text;
    column->cells.push_back(is_number ? scale.text(value) : plain_cell(value));
  }
  column->numbers = std::move(numbers);
}

// Returns the rows' indices, the largest by a column first; in the table's order without a column.
std::vector<size_t> largest_first(const Sheet& sheet, const std::string& column) {
  std::vector<size_t> rows(sheet.table.rows.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  if (const auto by = column_index(sheet, column)) {
    const auto key = [&](size_t row) {
      const double number = number_at(sheet, row, *by);
      return std::isnan(number) ? -HUGE_VAL : number;
    };
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  }
  return rows;
}

// Chooses the rows: the largest by `by`, or by `largest` in the table's order, or the first.
void choose_rows(const Sheet& sheet, const OutputOptions& options, Page* page) {
  const size_t count = sheet.table.rows.size();
  page->rows = largest_first(sheet, option(sheet, "by"));
  const auto by = column_index(sheet, option(sheet, "by"));
  size_t top = kTopDefault;
  if (const std::string given = option(sheet, "top"); !given.empty()) {
    top = static_cast<size_t>(std::max(1, std::atoi(given.c_str())));
  }
  top = options.top.value_or(top);
  // The footer takes a line, too, so leaving out a single row saves nothing.
  if (options.all || count <= top + (options.top ? 0 : 1)) return;
  page->footer = std::to_string(count - top) + " more";
  if (!by) page->rows = largest_first(sheet, option(sheet, "largest"));
  if (by) {
    double all = 0, hidden = 0;
    for (size_t i = 0; i < count; ++i) {
      const double number = number_at(sheet, page->rows[i], *by);
      if (!(number > 0)) continue;
      all += number;
      if (i >= top) hidden += number;
    }
    const std::string& unit = sheet.columns[*by].unit;
    const char* of = unit == "ns" ? "time" : unit == "bytes" ? "memory" : "total";
    if (all > 0) {
      page->footer += " (" + Scale("pct", {1}).text(100 * hidden / all) + " % of the " + of + ")";
    }
  }
  page->rows.resize(top);
  if (!by) std::sort(page->rows.begin(), page->rows.end());
}

// Keeps only the first of equal neighbours.
void blank_repeats(std::vector<std::string>* cells) {
  std::string last;
  for (size_t i = 0; i < cells->size(); ++i) {
    std::string& cell = (*cells)[i];
    if (i > 0 && cell == last) {
      cell.clear();
    } else {
      last = cell;
    }
  }
}

// Returns the largest value of the shown columns that have the unit of this one. Skips moments in
// time.
double largest_beside(const Sheet& sheet, const Page& page, const std::vector<size_t>& shown,
                      size_t index) {
  double largest = 0;
  for (const size_t other : shown) {
    if (sheet.columns[other].unit != sheet.columns[index].unit) continue;
    for (const size_t row : page.rows) {
      const double number = std::fabs(number_at(sheet, row, other));
      if (number < 1e16) largest = std::max(largest, number);
    }
  }
  return largest;
}

// Returns the name without the letter of its side: "latency_a_ns" and "latency_b_ns" have the same.
// Empty: the column is of no side.
std::string without_side(const analyze::Column& about) {
  const std::string label = label_of_name(about.name, about.unit);
  const size_t size = label.size();
  const bool has_side = size > 2 && (label[size - 2] == ' ' || label[size - 2] == '_') &&
                        label[size - 1] >= 'a' && label[size - 1] <= 'z';
  return has_side ? label.substr(0, size - 2) + " " + about.unit : "";
}

// Returns the values of the column and of the other sides of its quantity; none: it is of no side.
std::vector<double> sides_of(const Sheet& sheet, const Page& page, const std::vector<size_t>& shown,
                             size_t index) {
  std::vector<double> values;
  const std::string name = without_side(sheet.columns[index]);
  if (name.empty()) return values;
  for (const size_t other : shown) {
    if (without_side(sheet.columns[other]) != name) continue;
    for (const size_t row : page.rows) values.push_back(number_at(sheet, row, other));
  }
  return values;
}

// Returns the column's label and value if the value is the same in every row, else an empty text.
std::string caption_of(const Sheet& sheet, size_t index) {
  const auto& rows = sheet.table.rows;
  if (rows.empty() || is_null(rows[0][index])) return "";
  const bool is_same = std::all_of(rows.begin(), rows.end(),
                                   [&](const auto& row) { return row[index] == rows[0][index]; });
  if (!is_same) return "";
  TextColumn one;
  Page first;
  first.rows = {0};
  fill(sheet, first, index, {}, &one);
  return one.label + " " + one.cells[0] + (one.unit.empty() ? "" : " ") + one.unit;
}

Page make_page(const Sheet& sheet, const OutputOptions& options) {
  Page page;
  choose_rows(sheet, options, &page);
  const std::vector<size_t> captions = column_indexes(sheet, option(sheet, "caption"));
  std::vector<size_t> shown = column_indexes(sheet, option(sheet, "columns"));
  if (shown.empty()) {
    for (size_t i = 0; i < sheet.columns.size(); ++i) {
      if (std::find(captions.begin(), captions.end(), i) == captions.end()) shown.push_back(i);
    }
  }
  for (const size_t index : captions) {
    const std::string caption = caption_of(sheet, index);
    if (caption.empty()) continue;
    page.caption += (page.caption.empty() ? "" : ", ") + caption;
  }
  const auto bar_column = column_index(sheet, option(sheet, "bar"));
  const auto group_column = column_index(sheet, option(sheet, "group"));
  for (const size_t index : shown) {
    const bool is_empty = !page.rows.empty() && !sheet.title.empty() &&
                          std::all_of(page.rows.begin(), page.rows.end(), [&](size_t row) {
                            return is_null(sheet.table.rows[row][index]);
                          });
    if (is_empty) {
      const analyze::Column& about = sheet.columns[index];
      // A column may have values in the rows that are not shown.
      const bool is_missing = std::all_of(sheet.table.rows.begin(), sheet.table.rows.end(),
                                          [&](const auto& row) { return is_null(row[index]); });
      if (is_missing && about.unit != "text")
        page.missing.push_back(label_of_name(about.name, about.unit));
      continue;
    }
    if (bar_column == index) page.bars = page.columns.size();
    TextColumn column;
    fill(sheet, page, index,
         {largest_beside(sheet, page, shown, index), sides_of(sheet, page, shown, index)}, &column);
    if (group_column == index) blank_repeats(&column.cells);
    page.columns.push_back(std::move(column));
  }
  return page;
}

// Gives the room that a column left behind to the texts that were narrowed. Returns the rest.
size_t widen_texts(Page* page, size_t room) {
  while (room > 0) {
    TextColumn* narrowest = nullptr;
    for (TextColumn& column : page->columns) {
      if (!column.is_text || column.width >= column.full_width) continue;
      if (narrowest == nullptr || column.width < narrowest->width) narrowest = &column;
    }
    if (narrowest == nullptr) break;
    ++narrowest->width;
    --room;
  }
  return room;
}

// Narrows the widest text columns until everything fits, and then leaves out the last columns.
// Returns the width that is left for bars.
size_t fit(Page* page, size_t width) {
  size_t used = 0;
  for (TextColumn& column : page->columns) {
    column.width = std::max(width_of(column.label), width_of(column.unit));
    for (const std::string& cell : column.cells) {
      column.width = std::max(column.width, width_of(cell));
    }
    column.full_width = column.width;
    used += column.width + kGap;
  }
  const auto bars = [&] { return page->bars ? kBarMin + kGap : 0; };
  while (used + bars() > width + kGap) {
    TextColumn* widest = nullptr;
    for (TextColumn& column : page->columns) {
      if (!column.is_text || column.width <= kTextMin) continue;
      if (widest == nullptr || column.width > widest->width) widest = &column;
    }
    if (widest != nullptr) {
      --widest->width;
      --used;
      continue;
    }
    if (page->columns.size() < 2) break;
    used -= page->columns.back().width + kGap;
    page->left_out.insert(page->left_out.begin(), page->columns.back().label);
    page->columns.pop_back();
    if (page->bars && *page->bars >= page->columns.size()) page->bars.reset();
  }
  const size_t taken = used + bars();
  const size_t left = widen_texts(page, width + kGap > taken ? width + kGap - taken : 0);
  return page->bars ? std::min(kBarMin + left, kBarMax) : 0;
}

std::string padded(const std::string& text, size_t width, bool left) {
  const size_t taken = width_of(text);
  const std::string space(width > taken ? width - taken : 0, ' ');
  return left ? text + space : space + text;
}

void trim_end(std::string* line) {
  while (!line->empty() && line->back() == ' ') line->pop_back();
}

std::string header_line(const Page& page, size_t bar_width, bool units) {
  std::string line;
  for (size_t i = 0; i < page.columns.size(); ++i) {
    const TextColumn& column = page.columns[i];
    line += padded(units ? column.unit : column.label, column.width, column.is_text);
    line += std::string(kGap, ' ');
    if (page.bars == i) line += std::string(bar_width + kGap, ' ');
  }
  trim_end(&line);
  return line;
}

// Wraps a sentence to the column's width without cutting it. Shortens a name, which has no place
// for a break, in its middle, also inside a sentence. Text with a word that is too wide may be a
// function's signature: it is a sentence if it ends as one. `name` is the cell as a name.
std::vector<std::string> lines_of(const std::string& cell, const std::string& name, size_t width,
                                  const Terminal& terminal) {
  constexpr size_t kWordsMin = 3;
  std::vector<std::string> words;
  std::istringstream stream(cell);
  for (std::string word; stream >> word;) words.push_back(word);
  const bool fits = width_of(cell) <= width;
  const auto has_room = [&](const auto& word) { return width_of(word) <= width; };
  const bool is_sentence =
      words.size() >= kWordsMin &&
      (cell.back() == '.' || std::all_of(words.begin(), words.end(), has_room));
  if (fits || !is_sentence) return {name};
  for (std::string& word : words) word = shortened(terminal, word, width);
  std::vector<std::string> lines = {words[0]};
  for (size_t i = 1; i < words.size(); ++i) {
    if (width_of(lines.back()) + 1 + width_of(words[i]) <= width) {
      lines.back() += " " + words[i];
    } else {
      lines.push_back(words[i]);
    }
  }
  return lines;
}

// Returns one row of the table, with as many lines as its longest sentence needs.
std::string row_lines(const Page& page, size_t row, size_t bar_width, double largest,
                      const Terminal& terminal) {
  std::vector<std::vector<std::string>> cells;
  size_t count = 1;
  for (const TextColumn& column : page.columns) {
    const std::string& cell = column.cells[row];
    if (column.is_text) {
      cells.push_back(lines_of(cell, column.names[row], column.width, terminal));
    } else {
      cells.push_back({cell.empty() ? "-" : cell});
    }
    count = std::max(count, cells.back().size());
  }
  std::string text;
  for (size_t at = 0; at < count; ++at) {
    std::string line;
    for (size_t i = 0; i < page.columns.size(); ++i) {
      const TextColumn& column = page.columns[i];
      const std::string cell = at < cells[i].size() ? cells[i][at] : "";
      line += padded(cell, column.width, column.is_text) + std::string(kGap, ' ');
      if (page.bars != i) continue;
      const std::string drawn =
          at == 0 ? bar(terminal, column.numbers[row] / largest, bar_width) : "";
      line += styled(terminal, Style::kBar, drawn);
      line += std::string(bar_width - std::min(bar_width, width_of(drawn)) + kGap, ' ');
    }
    trim_end(&line);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string render_table(const Sheet& sheet, const OutputOptions& options,
                         const Terminal& terminal) {
  Page page = make_page(sheet, options);
  const size_t bar_width = fit(&page, terminal.width);
  for (TextColumn& column : page.columns) {
    if (column.is_text) column.names = shortened_apart(terminal, column.cells, column.width);
  }
  std::string text;
  if (!sheet.title.empty()) {
    text += styled(terminal, Style::kTitle, sheet.title);
    if (!page.caption.empty()) text += ", " + page.caption;
    text += "\n\n";
  }
  text += styled(terminal, Style::kFaint, header_line(page, bar_width, false)) + "\n";
  const std::string units = header_line(page, bar_width, true);
  if (!units.empty()) text += styled(terminal, Style::kFaint, units) + "\n";
  double largest = 0;
  if (page.bars) {
    for (const double number : page.columns[*page.bars].numbers) {
      if (number > largest) largest = number;
    }
  }
  for (size_t row = 0; row < page.rows.size(); ++row) {
    text += row_lines(page, row, bar_width, largest, terminal);
  }
  if (sheet.table.rows.empty()) text += styled(terminal, Style::kFaint, "(no rows)") + "\n";
  if (!page.footer.empty()) {
    text += styled(terminal, Style::kFaint,
                   std::string(terminal.utf8 ? "…" : "...") + " and " + page.footer +
                       ": --all shows them") +
            "\n";
  }
  if (!page.left_out.empty()) {
    text += styled(terminal, Style::kFaint,
                   "too wide: " + joined(page.left_out) + ": --format csv has them") +
            "\n";
  }
  if (!page.missing.empty()) {
    text += styled(terminal, Style::kFaint, "not measured: " + joined(page.missing)) + "\n";
  }
  return text;
}

Sheet top_rows(const Sheet& sheet, size_t count) {
  Sheet top = sheet;
  top.table.rows.clear();
  for (const size_t row : largest_first(sheet, option(sheet, "by"))) {
    if (top.table.rows.size() == count) break;
    top.table.rows.push_back(sheet.table.rows[row]);
  }
  return top;
}

std::string render_markdown(const Sheet& sheet) {
  OutputOptions every_row;
  every_row.all = true;
  const Page page = make_page(sheet, every_row);
  std::string head = "|", rule = "|", body;
  for (const TextColumn& column : page.columns) {
    head += " " + column.label + (column.unit.empty() ? "" : " (" + column.unit + ")") + " |";
    rule += column.is_text ? " --- |" : " ---: |";
  }
  for (size_t row = 0; row < page.rows.size(); ++row) {
    body += "|";
    for (const TextColumn& column : page.columns) {
      body += " ";
      for (const char c : column.cells[row])
        body += c == '|' ? std::string("\\|") : std::string(1, c);
      body += " |";
    }
    body += "\n";
  }
  std::string title;
  if (!sheet.title.empty()) {
    title = "### " + sheet.title + (page.caption.empty() ? "" : ", " + page.caption) + "\n\n";
  }
  const std::string missing =
      page.missing.empty() ? "" : "\nnot measured: " + joined(page.missing) + "\n";
  return title + head + "\n" + rule + "\n" + body + missing;
}

}  // namespace xsp::cli
