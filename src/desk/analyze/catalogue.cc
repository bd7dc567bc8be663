#include "desk/analyze/catalogue.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include "shared/base/levels.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::analyze {
namespace {

// The words that an analysis may need besides a level.
const std::vector<std::string> kFacts = {
    "peak",  "counters",      "memory",  "energy",  "layer_energy", "clocks", "training",
    "steps", "library_calls", "samples", "watched", "requests",     "tokens", "load",
    "loads", "batches",       "whole",   "part",    "causes"};

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Cuts the first word off `rest` and returns it.
std::string next_word(std::string_view& rest) {
  rest = trim(rest);
  const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  std::string word(rest.substr(0, end));
  rest = trim(rest.substr(end));
  return word;
}

// Stands in a parameter's type before the least value; without the '=', the value is above it.
constexpr char kBound = '>';

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> trimmed(std::vector<std::string> words) {
  for (std::string& word : words) word = trim(word);
  std::erase(words, "");
  return words;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_';
  });
}

template <typename T>
bool contains(const std::vector<T>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string canonical(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

// Each of these functions takes the text after a directive. It returns what is wrong with it, or an
// empty text.
std::string single(std::string& field, std::string_view rest, bool word) {
  if (!field.empty()) return "given twice";
  if (rest.empty()) return "empty";
  if (word && !is_word(rest)) return "not one word of small letters, digits and _";
  field = rest;
  return {};
}

std::string add_needs(std::vector<std::string>& needs, std::string_view rest) {
  for (std::string& need : trimmed(split(rest, ','))) {
    if (!contains(kFacts, need) && !contains(level_names(), need)) {
      return "'" + need +
             "' is no level, nor one of peak, counters, memory, energy, layer_energy, "
             "clocks, training, steps, library_calls, samples, watched, requests, tokens, load, "
             "loads, batches, whole, part";
    }
    needs.push_back(std::move(need));
  }
  return {};
}

std::string add_doubts(std::vector<std::string>& levels, std::string_view rest) {
  for (std::string& level : trimmed(split(rest, ','))) {
    if (!contains(level_names(), level)) return "'" + level + "' is no level";
    levels.push_back(std::move(level));
  }
  return {};
}

// Reads one header, directive by directive. Each member returns what is wrong, or an empty text.
class HeaderParser {
 public:
  explicit HeaderParser(Analysis& analysis) : analysis_(analysis) {}

  std::string directive(const std::string& key, std::string_view rest) {
    if (key == "id") return single(analysis_.id, rest, true);
    if (key == "name") return single(analysis_.name, rest, true);
    if (key == "title") return single(analysis_.title, rest, false);
    if (key == "question") return single(analysis_.question, rest, false);
    if (key == "needs") return add_needs(analysis_.needs, rest);
    if (key == "doubts") return add_doubts(analysis_.doubts, rest);
    if (key == "param") return param(rest);
    if (key == "column") return column(rest);
    if (key == "view") return view(rest);
    return "unknown directive";
  }

  void prose(std::string_view comment) {
    if (!comment.empty() && !analysis_.description.empty()) analysis_.description += ' ';
    analysis_.description += comment;
  }

  // Makes the checks that need the whole header.
  std::string finish() const {
    if (analysis_.id.empty()) return "@id is missing";
    if (analysis_.name.empty()) return "@name is missing";
    if (analysis_.title.empty()) return "@title is missing";
    if (analysis_.question.empty()) return "@question is missing";
    if (analysis_.columns.empty()) return "no @column";
    for (const View& one : analysis_.views) {
      for (const auto& [key, value] : one.options) {
        if (key == "top" || key == "title") continue;
        const std::vector<std::string> names = trimmed(split(value, ','));
        for (const std::string& name : names) {
          if (!has_column(name)) return "@view " + one.kind + ": no column '" + name + "'";
          if (std::count(names.begin(), names.end(), name) > 1) {
            return "@view " + one.kind + ": " + key + " has '" + name + "' twice";
          }
        }
      }
    }
    for (const Column& one : analysis_.columns) {
      if (one.unit.substr(0, 3) == "by:" && !has_column(one.unit.substr(3))) {
        return "@column " + one.name + ": no column '" + one.unit.substr(3) + "'";
      }
    }
    return {};
  }

 private:
  std::string param(std::string_view rest) {
    Param one;
    one.name = next_word(rest);
    one.type = next_word(rest);
    const size_t bound = std::min(one.type.find(kBound), one.type.size());
    const bool has_least = bound < one.type.size();
    if (has_least) {
      one.is_above = !one.type.substr(bound).starts_with(">=");
      one.least = number_of(one.type.substr(bound + (one.is_above ? 1 : 2)));
    }
    one.type.resize(bound);
    one.default_value = next_word(rest);
    one.description = rest;
    static const std::vector<std::string> types = {"integer", "double", "text"};
    if (!is_word(one.name)) return "no name";
    if (!contains(types, one.type)) return "type '" + one.type + "' is none of integer double text";
    if (has_least && (!one.least || one.type == "text")) return "its least value is not a number";
    if (one.description.empty()) return "no description";
    analysis_.params.push_back(std::move(one));
    return {};
  }

  std::string column(std::string_view rest) {
    Column one;
    one.name = next_word(rest);
    one.unit = next_word(rest);
    one.description = rest;
    if (!is_word(one.name)) return "no name";
    if (has_column(one.name)) return "'" + one.name + "' is given twice";
    if (one.description.empty()) return "'" + one.name + "' has no description";
    if (one.unit.substr(0, 3) != "by:") {
      const auto unit = std::find_if(units().begin(), units().end(),
                                     [&](const Unit& u) { return u.name == one.unit; });
      if (unit == units().end()) return "'" + one.name + "' has unknown unit '" + one.unit + "'";
      if (!unit->ends(one.name)) {
        return "'" + one.name + "' does not end in its unit, '" + std::string(unit->suffix) + "'";
      }
    }
    analysis_.columns.push_back(std::move(one));
    return {};
  }

  std::string view(std::string_view rest) {
    const std::string kind = next_word(rest);
    if (!is_word(kind)) return "no kind";
    auto found = std::find_if(analysis_.views.begin(), analysis_.views.end(),
                              [&](const View& v) { return v.kind == kind; });
    if (found == analysis_.views.end()) found = analysis_.views.insert(found, {kind, {}});
    while (!rest.empty()) {
      const std::string option = next_word(rest);
      const size_t equal = option.find('=');
      if (equal == std::string::npos || equal == 0) return "'" + option + "' is not key=value";
      std::string& value = found->options[option.substr(0, equal)];
      value += (value.empty() ? "" : ",") + option.substr(equal + 1);
    }
    return {};
  }

  bool has_column(std::string_view name) const {
    return std::any_of(analysis_.columns.begin(), analysis_.columns.end(),
                       [&](const Column& c) { return c.name == name; });
  }

  Analysis& analysis_;
};

// Reads the header of one rule in the same way.
class RuleParser {
 public:
  explicit RuleParser(Rule& rule) : rule_(rule) {}

  std::string directive(const std::string& key, std::string_view rest) {
    if (key == "title") return single(rule_.title, rest, false);
    if (key == "rule") return single(rule_.sentence, rest, false);
    if (key == "needs") return add_needs(rule_.needs, rest);
    return "unknown directive";
  }
  void prose(std::string_view) {}
  std::string finish() const {
    if (!is_word(rule_.name))
      return "the file's name is not one word of small letters, digits and _";
    if (is_prelude(rule_.name)) return {};
    if (rule_.title.empty()) return "@title is missing";
    if (rule_.sentence.empty()) return "@rule is missing";
    return {};
  }

 private:
  Rule& rule_;
};

// Passes the header of one file to a parser, line by line.
template <typename Parser>
Status read_header(std::string_view file, std::string_view text, Parser parser) {
  const auto wrong = [&](size_t line, const std::string& what) {
    return failed("analyses/" + std::string(file) + ".sql:" + std::to_string(line) + ": " + what +
                  ": see src/desk/analyze/catalogue.h");
  };
  size_t line_number = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trim(rest.substr(0, end));
    if (!line.starts_with("--")) break;  // the header ends where the query begins
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line_number;
    std::string_view comment = trim(line.substr(2));
    if (!comment.starts_with('@')) {
      parser.prose(comment);
      continue;
    }
    comment.remove_prefix(1);
    const std::string key = next_word(comment);
    const std::string problem = parser.directive(key, comment);
    if (!problem.empty()) return wrong(line_number, "@" + key + ": " + problem);
  }
  const std::string problem = parser.finish();
  if (!problem.empty()) return wrong(line_number, problem);
  return Ok{};
}

// Puts a2 before a10: the letters are compared first, then the number.
bool id_less(const Analysis& a, const Analysis& b) {
  const auto key = [](const std::string& id) {
    const size_t digits = std::min(id.find_first_of("0123456789"), id.size());
    const std::string number = id.substr(digits);
    return std::make_tuple(id.substr(0, digits), number.size(), number);
  };
  return key(a.id) < key(b.id);
}

// Gives each analysis the files of the folder with its name, in the order of the files' names.
Status add_rules(std::vector<EmbeddedSql> files, std::vector<Analysis>& list) {
  std::sort(files.begin(), files.end(),
            [](const EmbeddedSql& a, const EmbeddedSql& b) { return a.name < b.name; });
  for (const EmbeddedSql& file : files) {
    const size_t slash = file.name.find('/');
    if (slash == std::string_view::npos) continue;
    const auto owner = std::find_if(list.begin(), list.end(), [&](const Analysis& one) {
      return one.name == file.name.substr(0, slash);
    });
    if (owner == list.end()) {
      return failed("analyses/" + std::string(file.name) +
                    ".sql: no analysis has the folder's name: move the file to one that has");
    }
    XSP_TRY(Rule rule, parse_rule(file.name, file.text));
    (is_prelude(file.name) ? owner->facts : owner->rules).push_back(std::move(rule));
  }
  return Ok{};
}

}  // namespace

bool is_prelude(std::string_view file) {
  return file.substr(file.rfind('/') + 1).starts_with("prelude");
}

const View* Analysis::view(std::string_view kind) const {
  for (const View& one : views) {
    if (one.kind == kind) return &one;
  }
  return nullptr;
}

bool Unit::ends(std::string_view column) const {
  if (suffix.empty() || column == suffix) return true;
  return column.ends_with(suffix) && column[column.size() - suffix.size() - 1] == '_';
}

const std::vector<Unit>& units() {
  static const std::vector<Unit> list = {
      {"ns", "ns"},
      {"bytes", "bytes"},
      {"pct", "pct"},
      {"flops", "flops"},
      {"flops_per_s", "flops_per_s"},
      {"flops_per_byte", "flops_per_byte"},
      {"bytes_per_s", "bytes_per_s"},
      {"per_s", "per_s"},
      {"j", "j"},  // joules
      {"w", "w"},  // watts
      {"ratio", ""},
      {"count", ""},
      {"number", ""},
      {"text", ""},
      {"bool", ""},
  };
  return list;
}

const std::vector<std::string>& level_names() {
  static const std::vector<std::string> names(std::begin(kLevelNames) + 1, std::end(kLevelNames));
  return names;
}

Result<Analysis> parse_analysis(std::string_view file, std::string_view text) {
  Analysis analysis;
  analysis.sql = text;
  XSP_CHECK_OK(read_header(file, text, HeaderParser(analysis)));
  return analysis;
}

Result<Rule> parse_rule(std::string_view file, std::string_view text) {
  Rule rule;
  rule.name = file.substr(file.rfind('/') + 1);
  rule.sql = text;
  XSP_CHECK_OK(read_header(file, text, RuleParser(rule)));
  return rule;
}

Result<std::vector<Analysis>> parse_catalogue(const std::vector<EmbeddedSql>& files) {
  std::vector<Analysis> list;
  std::set<std::string> taken;
  for (const EmbeddedSql& file : files) {
    if (is_prelude(file.name) || file.name.find('/') != std::string_view::npos) continue;
    XSP_TRY(Analysis analysis, parse_analysis(file.name, file.text));
    for (const std::string& word : {analysis.id, analysis.name}) {
      if (!taken.insert(word).second) {
        return failed("analyses/" + std::string(file.name) + ".sql: '" + word +
                      "' is taken by another analysis: choose a free @id and @name");
      }
    }
    list.push_back(std::move(analysis));
  }
  XSP_CHECK_OK(add_rules(files, list));
  std::sort(list.begin(), list.end(), id_less);
  return list;
}

const Result<std::vector<Analysis>>& catalogue() {
  static const Result<std::vector<Analysis>> result = parse_catalogue(embedded_sql());
  return result;
}

Result<const Analysis*> find(std::string_view id_or_name) {
  if (!catalogue().ok()) return catalogue().error();
  const std::string wanted = canonical(id_or_name);
  std::vector<std::string> known;
  for (const Analysis& analysis : catalogue().value()) {
    if (analysis.id == wanted || analysis.name == wanted) return &analysis;
    known.push_back(analysis.name);
  }
  for (const Analysis& analysis : catalogue().value()) known.push_back(analysis.id);
  return usage("analysis '" + std::string(id_or_name) +
               "': unknown: " + did_you_mean(wanted, known, "xsp analyze --list shows them all"));
}

}  // namespace xsp::analyze
