#include "desk/analyze/prelude.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/embedded.h"

namespace xsp::analyze {
namespace {

using store::Database;

// Each definition begins a line with this, and lasts until the next one.
constexpr std::string_view kBegin = "\nCREATE OR REPLACE TEMP ";

bool is_of_a_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// The names that a text uses; those that a parenthesis follows are calls.
struct Names {
  std::set<std::string> called;
  std::set<std::string> others;
};

// Leaves out comments and texts in quotes.
Names names_in(std::string_view sql) {
  Names names;
  for (size_t at = 0; at < sql.size();) {
    if (sql.substr(at, 2) == "--") {
      at = std::min(sql.find('\n', at), sql.size());
    } else if (sql[at] == '\'') {
      at = std::min(sql.find('\'', at + 1), sql.size() - 1) + 1;
    } else if (is_of_a_name(sql[at])) {
      std::string name;
      for (; at < sql.size() && is_of_a_name(sql[at]); ++at) {
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(sql[at])));
      }
      const size_t next = sql.find_first_not_of(" \n", at);
      const bool is_call = next != std::string_view::npos && sql[next] == '(';
      (is_call ? names.called : names.others).insert(std::move(name));
    } else {
      ++at;
    }
  }
  return names;
}

struct Definition {
  std::string name;
  bool is_macro = false;
  std::string_view sql;
  std::vector<size_t> needs;  // places of the definitions that it names, which come before it
};

bool is_named(const Definition& one, const Names& names) {
  return (one.is_macro ? names.called : names.others).count(one.name) != 0;
}

// Returns the places of the definitions that `sql` names.
std::vector<size_t> named_in(const std::vector<Definition>& definitions, std::string_view sql) {
  const Names names = names_in(sql);
  std::vector<size_t> places;
  for (size_t i = 0; i < definitions.size(); ++i) {
    if (is_named(definitions[i], names)) places.push_back(i);
  }
  return places;
}

void add_definitions(std::string_view text, std::vector<Definition>* definitions) {
  for (size_t at = text.find(kBegin); at != std::string_view::npos;) {
    const size_t end = text.find(kBegin, at + 1);
    Definition one;
    one.sql = text.substr(at, end - at);
    const std::string_view title = one.sql.substr(kBegin.size());
    one.is_macro = title.starts_with("MACRO ");
    const std::string_view name = title.substr(title.find(' ') + 1);
    one.name = name.substr(0, name.find_first_of(" ("));
    one.needs = named_in(*definitions, one.sql);
    definitions->push_back(std::move(one));
    at = end;
  }
}

// In the order of the preludes' names: each builds on the ones before it.
const std::vector<Definition>& all_definitions() {
  static const std::vector<Definition> all = [] {
    std::map<std::string_view, std::string_view> preludes;
    for (const EmbeddedSql& file : embedded_sql()) {
      const bool is_shared = file.name.find('/') == std::string_view::npos;
      if (is_shared && is_prelude(file.name)) preludes[file.name] = file.text;
    }
    std::vector<Definition> definitions;
    for (const auto& [name, text] : preludes) add_definitions(text, &definitions);
    return definitions;
  }();
  return all;
}

void add_with_needs(size_t place, std::set<size_t>* places) {
  if (!places->insert(place).second) return;
  for (const size_t need : all_definitions()[place].needs) add_with_needs(need, places);
}

Status load(Database& database, const std::set<size_t>& places) {
  for (const size_t place : places) {
    const Definition& one = all_definitions()[place];
    if (database.loaded().count(one.name) != 0) continue;
    XSP_CHECK_OK(database.execute(one.sql));
    database.loaded().insert(one.name);
  }
  return Ok{};
}

}  // namespace

void forget_prelude(Database& database) {
  if (!database.reads_only()) database.loaded().clear();
}

Status load_prelude(Database& database) {
  forget_prelude(database);
  std::set<size_t> places;
  for (size_t i = 0; i < all_definitions().size(); ++i) places.insert(i);
  return load(database, places);
}

Result<store::Table> query_with_prelude(Database& database, std::string_view sql,
                                        const std::map<std::string, store::Value>& parameters) {
  std::set<size_t> places;
  for (const size_t place : named_in(all_definitions(), sql)) add_with_needs(place, &places);
  XSP_CHECK_OK(load(database, places));
  return database.query(sql, parameters);
}

}  // namespace xsp::analyze
