#include "desk/analyze/prelude.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/embedded.h"
#include "desk/analyze/prelude_load.h"

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
  bool is_table = false;  // and so holds what the database had when it was made
  std::string_view sql;
  std::vector<size_t> needs;  // places of the definitions that it names, which come before it
  std::string condition;      // a call; if it is false, the table is empty; empty: always true
  std::string columns;        // of the empty table, with their types
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

// A table that many files leave empty says so, because planning its query and what that needs takes
// longer than most analyses. Its comment is "-- @if CONDITION() else (COLUMNS)".
constexpr std::string_view kIf = "-- @if ";
constexpr std::string_view kElse = " else ";

void read_condition(Definition* one) {
  size_t at = one->sql.find(kIf);
  if (at == std::string_view::npos) return;
  at += kIf.size();
  const size_t condition_end = one->sql.find(kElse, at);
  one->condition = one->sql.substr(at, condition_end - at);
  at = condition_end + kElse.size();
  // The comment ends with the first line that is none.
  for (;;) {
    const size_t end = one->sql.find('\n', at);
    one->columns += one->sql.substr(at, end - at);
    at = one->sql.find_first_not_of(" \n", end);
    if (one->sql.substr(at, 2) != "--") return;
    one->columns += ' ';
    at += 2;
  }
}

void add_definitions(std::string_view text, std::vector<Definition>* definitions) {
  for (size_t at = text.find(kBegin); at != std::string_view::npos;) {
    const size_t end = text.find(kBegin, at + 1);
    Definition one;
    one.sql = text.substr(at, end - at);
    const std::string_view title = one.sql.substr(kBegin.size());
    one.is_macro = title.starts_with("MACRO ");
    one.is_table = title.starts_with("TABLE ");
    const std::string_view name = title.substr(title.find(' ') + 1);
    one.name = name.substr(0, name.find_first_of(" ("));
    one.needs = named_in(*definitions, one.sql);
    read_condition(&one);
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

// The definitions that a session gets, and those of them that it gets as empty tables.
struct Wanted {
  std::set<size_t> places;
  std::set<size_t> empty;
};

Status load(Database& database, const Wanted& wanted) {
  for (const size_t place : wanted.places) {
    const Definition& one = all_definitions()[place];
    if (database.loaded().count(one.name) != 0) continue;
    XSP_CHECK_OK(wanted.empty.count(place) != 0
                     ? database.execute("CREATE OR REPLACE TEMP TABLE " + one.name + one.columns)
                     : database.execute(one.sql));
    database.loaded().insert(one.name);
  }
  return Ok{};
}

// A session whose database cannot change keeps the answer among the names of what it has.
Result<bool> holds(Database& database, const std::string& condition) {
  std::set<std::string>& loaded = database.loaded();
  if (loaded.count(condition + ": yes") != 0) return true;
  if (loaded.count(condition + ": no") != 0) return false;
  XSP_TRY(const store::Table table, query_with_prelude(database, "SELECT " + condition));
  const bool answer = std::get<bool>(table.rows.at(0).at(0));
  if (database.reads_only()) loaded.insert(condition + (answer ? ": yes" : ": no"));
  return answer;
}

Status add_with_needs(Database& database, size_t place, Wanted* wanted) {
  if (!wanted->places.insert(place).second) return Ok{};
  const Definition& one = all_definitions()[place];
  // A table that is there asks for nothing more; a view does each time.
  if (one.is_table && database.loaded().count(one.name) != 0) return Ok{};
  if (!one.condition.empty()) {
    XSP_TRY(const bool is_filled, holds(database, one.condition));
    if (!is_filled) {
      wanted->empty.insert(place);
      return Ok{};
    }
  }
  for (const size_t need : one.needs) XSP_CHECK_OK(add_with_needs(database, need, wanted));
  return Ok{};
}

constexpr std::string_view kAskedFor = "asked_for";
constexpr std::string_view kSubject = "asked_for: ";

std::string subject_of(const AskedFor& asked) {
  const auto* batch = std::get_if<int64_t>(&asked.batch);
  return std::string(kSubject) + (batch == nullptr ? "any" : std::to_string(*batch)) + " " +
         std::to_string(asked.periods) + " " + asked.peaks;
}

void forget_subject(Database& database) {
  std::erase_if(database.loaded(),
                [](const std::string& name) { return name.starts_with(kSubject); });
}

// Returns the names of the definitions that build on `asked_for`.
const std::vector<std::string>& built_on_asked_for() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> built;
    std::set<size_t> places;
    for (size_t i = 0; i < all_definitions().size(); ++i) {
      const Definition& one = all_definitions()[i];
      const bool builds = std::any_of(one.needs.begin(), one.needs.end(),
                                      [&](size_t need) { return places.count(need) != 0; });
      if (one.name != kAskedFor && !builds) continue;
      places.insert(i);
      if (one.name != kAskedFor) built.push_back(one.name);
    }
    return built;
  }();
  return names;
}

}  // namespace

Status ask_for(Database& database, const AskedFor& asked) {
  // The subject is known by a name of its own among those that are loaded.
  const std::string subject = subject_of(asked);
  std::set<std::string>& loaded = database.loaded();
  if (loaded.count(subject) != 0 && loaded.count(std::string(kAskedFor)) != 0) return Ok{};
  const std::map<std::string, store::Value> values = {
      {"batch", asked.batch}, {"peaks", asked.peaks}, {"periods", asked.periods}};
  const std::string row =
      "SELECT CAST($batch AS INTEGER) AS batch, $peaks AS peaks, "
      "CAST($periods AS INTEGER) AS periods";
  XSP_TRY(const store::Table made,
          database.query("CREATE OR REPLACE TEMP TABLE asked_for AS " + row, values));
  (void)made;
  forget_subject(database);
  loaded.insert({std::string(kAskedFor), subject});
  for (const std::string& name : built_on_asked_for()) loaded.erase(name);
  return Ok{};
}

Status load_prelude_for(Database& database, std::string_view sql) {
  Wanted wanted;
  for (const size_t place : named_in(all_definitions(), sql)) {
    XSP_CHECK_OK(add_with_needs(database, place, &wanted));
  }
  return load(database, wanted);
}

void forget_prelude(Database& database) {
  if (database.reads_only()) return;
  forget_subject(database);
  for (const Definition& one : all_definitions()) {
    if (one.is_table) database.loaded().erase(one.name);
  }
}

Status load_prelude(Database& database) {
  forget_prelude(database);
  Wanted all;
  for (size_t i = 0; i < all_definitions().size(); ++i) all.places.insert(i);
  return load(database, all);
}

Result<store::Table> query_with_prelude(Database& database, std::string_view sql,
                                        const std::map<std::string, store::Value>& parameters) {
  XSP_CHECK_OK(load_prelude_for(database, sql));
  return database.query(sql, parameters);
}

}  // namespace xsp::analyze
