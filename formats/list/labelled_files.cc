#include "formats/list/labelled_files.h"

#include <algorithm>
#include <optional>

#include "shared/base/text.h"

namespace xsp::formats {
namespace {

using Fields = std::vector<std::string>;

std::string_view take_line(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

Fields split_tabs(std::string_view line) {
  Fields fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// Returns nothing if a quote is not closed, or text follows it.
std::optional<Fields> split_commas(std::string_view line) {
  Fields fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ',') {
      fields.emplace_back();
    } else if (line[i] != '"' || !fields.back().empty()) {
      fields.back() += line[i];
    } else {
      for (++i;; ++i) {
        if (i >= line.size()) return std::nullopt;
        if (line[i] == '"' && (i + 1 >= line.size() || line[i + 1] != '"')) break;
        if (line[i] == '"') ++i;
        fields.back() += line[i];
      }
      if (i + 1 < line.size() && line[i + 1] != ',') return std::nullopt;
    }
  }
  return fields;
}

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Returns what is wrong with the fields of a line; empty: nothing.
std::string fault_of(const std::optional<Fields>& fields) {
  if (!fields) return "a quote is not closed, or text follows it";
  if (fields->size() != 2) {
    return std::to_string(fields->size()) + (fields->size() == 1 ? " field: " : " fields: ") +
           "write the file, a comma or a tab, and the label";
  }
  if ((*fields)[0].empty()) return "the file is missing: name it before the label";
  if ((*fields)[1].empty()) return "the label is missing: write it behind the file";
  for (const std::string& field : *fields) {
    if (!check_text(field).ok() || has_control_character(field)) {
      return "not plain text: write it in UTF-8, without control characters";
    }
  }
  return {};
}

}  // namespace

Result<std::vector<LabelledFile>> parse_labelled_files(std::string_view text,
                                                       const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const bool has_tabs = text.substr(0, text.find('\n')).find('\t') != std::string_view::npos;
  std::vector<LabelledFile> files;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(&text);
    if (line.empty()) continue;
    const std::optional<Fields> fields = has_tabs ? split_tabs(line) : split_commas(line);
    const std::string fault = fault_of(fields);
    if (!fault.empty()) return corrupt(name + ":" + std::to_string(number) + ": " + fault);
    if (number == 1 && (*fields)[0] == "file" && (*fields)[1] == "label") continue;
    if (files.size() == kLabelledFilesMax) {
      return corrupt(name + ":" + std::to_string(number) + ": too many files: split the list");
    }
    files.push_back({(*fields)[0], (*fields)[1], number});
  }
  if (files.empty()) return corrupt(name + ": no files: write a file and its label in each line");
  return files;
}

}  // namespace xsp::formats
