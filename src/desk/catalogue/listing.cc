#include "desk/catalogue/listing.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "desk/store/values.h"
#include "shared/base/text.h"

namespace xsp::catalogue {
namespace {

// Returns the column that counts a subject's evaluations.
#define XSP_EVALUATIONS_OF(subject, key) \
  "(SELECT count(*) FROM evaluation e WHERE e." subject " = " key ")"

// A subject is asked for by its id, which has the version, or by its name alone.
const ListingFilter kModelFilter = {"model", "the model's id or name", "(m.id = ? OR m.name = ?)"};
const ListingFilter kFrameworkFilter = {"framework", "the framework's id or name",
                                        "(f.id = ? OR f.name = ?)"};

// Several sweeps may have a name.
const ListingFilter kSweepFilter = {"sweep", "the sweep's id or name", "(w.id = ? OR w.name = ?)"};

// The things that were measured, and where.
std::vector<Listing> subjects() {
  return {
      {"models",
       "The models that were measured.",
       {{"id", "text", "m.id"},
        {"name", "text", "m.name"},
        {"version", "text", "m.version"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("model", "m.id")}},
       "model m",
       {kModelFilter},
       {{"id"}}},
      {"datasets",
       "The data sets on which models were judged.",
       {{"id", "text", "d.id"},
        {"name", "text", "d.name"},
        {"version", "text", "d.version"},
        {"split", "text", "d.split"},
        {"sha256", "text", "d.sha256"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("dataset", "d.id")}},
       "dataset d",
       {{"dataset", "the data set's id or name", "(d.id = ? OR d.name = ?)"}},
       {{"id"}}},
      {"frameworks",
       "The frameworks that ran the models.",
       {{"id", "text", "f.id"},
        {"name", "text", "f.name"},
        {"version", "text", "f.version"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("framework", "f.id")}},
       "framework f",
       {kFrameworkFilter},
       {{"id"}}},
      {"systems",
       "The machines, each in one state of hardware and software; facts are a JSON object.",
       {{"fingerprint", "text", "s.fingerprint"},
        {"name", "text", "s.name"},
        {"facts", "text", "s.facts"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("system", "s.fingerprint")}},
       "system s",
       {{"system", "the system's fingerprint or name", "(s.fingerprint = ? OR s.name = ?)"}},
       {{"name"}, {"fingerprint"}}},
  };
}

// Sweeps with their tasks, and the agents that take tasks.
std::vector<Listing> requests() {
  return {
      {"agents",
       "The machines that run xsp agent, with what they have.",
       {{"id", "text", "a.id"},
        {"system", "text", "a.system"},
        {"offers", "text", "a.offers"},
        {"seen_s", "number", "a.seen_at"}},
       "agent a",
       {{"agent", "the agent's id", "a.id = ?"}},
       {{"id"}}},
      {"sweeps",
       "The sweeps, and how many of their tasks are done.",
       {{"id", "text", "w.id"},
        {"name", "text", "w.name"},
        {"state", "text", "w.state"},
        {"created_at", "text", "w.created_at"},
        {"tasks", "count", "(SELECT count(*) FROM task t WHERE t.sweep = w.id)"},
        {"done", "count",
         "(SELECT count(*) FROM task t WHERE t.sweep = w.id AND t.state = 'done')"},
        {"evaluations", "count",
         "(SELECT count(*) FROM evaluation e JOIN task t ON e.task = t.id WHERE t.sweep = w.id)"}},
       "sweep w",
       {kSweepFilter, {"state", "open, done, failed or cancelled", "w.state = ?"}},
       {{"created_at", true}, {"id"}}},
      {"tasks",
       "The tasks of sweeps.",
       {{"id", "text", "t.id"},
        {"sweep", "text", "t.sweep"},
        {"state", "text", "t.state"},
        {"attempt", "count", "t.attempt"},
        {"subject", "text", "t.subject"},
        {"host", "text", "t.host"},
        {"time_s", "number", "t.seconds"},
        {"reason", "text", "t.reason"}},
       "task t",
       {{kSweepFilter.name, kSweepFilter.description,
         "t.sweep IN (SELECT w.id FROM sweep w WHERE w.id = ? OR w.name = ?)"},
        {"state", "the task's state", "t.state = ?"}},
       {{"id"}}},
  };
}

// The names of figures.
Listing metrics() {
  return {"metrics",
          "The metrics of which there are figures.",
          {{"metric", "text", "k.metric"},
           {"unit", "text", "(SELECT r.unit FROM result r WHERE r.metric = k.metric LIMIT 1)"},
           {"evaluations", "count", "k.evaluations"}},
          // The index of the metrics answers this without the figures themselves.
          "(SELECT metric, count(*) AS evaluations FROM result GROUP BY metric) k",
          {},
          {{"metric"}}};
}

Listing results() {
  return {"results",
          "The figures of evaluations, each with its 95 % interval.",
          {{"evaluation", "text", "r.evaluation"},
           {"model", "text", "e.model"},
           {"framework", "text", "e.framework"},
           {"system", "text", "(SELECT s.name FROM system s WHERE s.fingerprint = e.system)"},
           {"device", "text", "e.device"},
           {"scenario", "text", "e.scenario"},
           {"batch", "count", "nullif(e.batch, 0)"},
           {"metric", "text", "r.metric"},
           {"value", "by:unit", "r.value"},
           {"low", "by:unit", "r.low"},
           {"high", "by:unit", "r.high"},
           {"unit", "text", "r.unit"},
           {"word", "text", "r.word"},
           {"doubt", "text", "r.doubt"},
           {"note", "text", "r.note"},
           {"dataset", "text", "e.dataset"},
           {"fingerprint", "text", "e.system"},
           {"started_at", "text", "e.started_at"},
           {"task", "text", "e.task"},
           {"file", "text", "e.file"}},
          "result r JOIN evaluation e ON r.evaluation = e.id",
          {{"metric", "the figure's name, such as inference.latency", "r.metric = ?"},
           {kModelFilter.name, kModelFilter.description,
            "e.model IN (SELECT m.id FROM model m WHERE m.id = ? OR m.name = ?)"},
           {kFrameworkFilter.name, kFrameworkFilter.description,
            "e.framework IN (SELECT f.id FROM framework f WHERE f.id = ? OR f.name = ?)"},
           {"system", "the system's fingerprint or name",
            "e.system IN (SELECT s.fingerprint FROM system s WHERE s.fingerprint = ? OR s.name = "
            "?)"},
           {"dataset", "the data set's id", "e.dataset = ?"},
           {"scenario", "the scenario", "e.scenario = ?"},
           {"device", "the device, such as cuda:0", "e.device = ?"},
           {"batch", "the batch size", "e.batch = ?", true},
           {kSweepFilter.name, kSweepFilter.description,
            "e.task IN (SELECT t.id FROM task t WHERE t.sweep IN (SELECT w.id FROM sweep w WHERE "
            "w.id = ? OR w.name = ?))"},
           {"evaluation", "the evaluation's id", "r.evaluation = ?"}},
          {{"metric"}, {"evaluation"}},
          "result r",
          "metric"};
}

#undef XSP_EVALUATIONS_OF

Result<store::Value> value_of(const ListingFilter& filter, const std::string& text) {
  if (!filter.is_whole) return store::Value(text);
  int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc() || stop != end) {
    return usage(std::string(filter.name) + " '" + text + "': not an integer");
  }
  return store::Value(whole);
}

// Appends the condition, with the value's number in place of each ?.
void append_condition(const ListingFilter& filter, size_t number, std::string* where) {
  *where += where->empty() ? " WHERE " : " AND ";
  for (const char c : filter.sql) {
    if (c == '?') {
      *where += "$" + std::to_string(number);
    } else {
      *where += c;
    }
  }
}

std::string_view sql_of(const Listing& listing, const ListingKey& key) {
  for (const ListingColumn& column : listing.columns) {
    if (column.name == key.column) return column.sql;
  }
  return {};  // never: keys are columns
}

// A cursor is the listing's name and the keys of a row, each in hexadecimal digits, with dots
// between. It is no secret, and no text of it becomes SQL.
constexpr std::string_view kDigits = "0123456789abcdef";

void append_hex(std::string_view text, std::string* cursor) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    *cursor += kDigits[byte >> 4];
    *cursor += kDigits[byte & 15];
  }
}

std::optional<std::string> text_of_hex(std::string_view hex) {
  std::string text;
  if (hex.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const size_t high = kDigits.find(hex[i]), low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    text += static_cast<char>(high << 4 | low);
  }
  return text;
}

std::string cursor_of(const Listing& listing, const std::vector<store::Value>& row) {
  std::string cursor;
  append_hex(listing.name, &cursor);
  for (const ListingKey& key : listing.order) {
    for (size_t i = 0; i < listing.columns.size(); ++i) {
      if (listing.columns[i].name != key.column) continue;
      cursor += '.';
      append_hex(store::text_of(row[i]), &cursor);
    }
  }
  return cursor;
}

// Returns the keys in a cursor.
Result<Cells> keys_of(const Listing& listing, const std::string& cursor) {
  const Error foreign = usage("after: not a cursor of " + std::string(listing.name) +
                              ": give the `next` of the answer before");
  Cells keys;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = cursor.find('.', begin);
    auto text = text_of_hex(std::string_view(cursor).substr(begin, end - begin));
    if (!text || !check_text(*text).ok()) return foreign;
    keys.emplace_back(std::move(*text));
  }
  if (keys.size() != listing.order.size() + 1) return foreign;
  if (store::text_of(keys[0]) != listing.name) return foreign;
  keys.erase(keys.begin());
  return keys;
}

// Returns the condition that a row lies behind the one whose keys are the parameters from `number`
// on. Rows of values are what an index answers.
std::string behind(const Listing& listing, size_t number) {
  std::string columns, values, all, equal;
  bool descends = false;
  for (const ListingKey& key : listing.order) {
    const std::string sql(sql_of(listing, key));
    const std::string value = "$" + std::to_string(number++);
    columns += (columns.empty() ? "" : ", ") + sql;
    values += (values.empty() ? "" : ", ") + value;
    all += (all.empty() ? "" : " OR ") + ("(" + equal) + sql + (key.descends ? " < " : " > ") +
           value + ")";
    equal += sql + " = " + value + " AND ";
    descends = descends || key.descends;
  }
  return descends ? "(" + all + ")" : "(" + columns + ") > (" + values + ")";
}

std::string order_of(const Listing& listing) {
  std::string order;
  for (const ListingKey& key : listing.order) {
    order += (order.empty() ? " ORDER BY " : ", ") + std::string(sql_of(listing, key)) +
             (key.descends ? " DESC" : "");
  }
  return order;
}

}  // namespace

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all = [] {
    std::vector<Listing> some = subjects();
    std::vector<Listing> asked = requests();
    for (Listing& one : asked) some.push_back(std::move(one));
    some.push_back(metrics());
    some.push_back(results());
    return some;
  }();
  return all;
}

Result<ListingPage> list(Catalogue& catalogue, const Listing& listing,
                         const std::vector<std::pair<std::string, std::string>>& filters,
                         const ListingPart& part) {
  std::string where;
  Cells cells;
  std::set<std::string> given;
  for (const auto& [name, text] : filters) {
    const ListingFilter* found = nullptr;
    for (const ListingFilter& one : listing.filters) {
      if (one.name == name) found = &one;
    }
    if (found == nullptr) {
      std::string known = "limit, offset, after";
      for (const ListingFilter& one : listing.filters) known += ", " + std::string(one.name);
      return usage("parameter '" + name + "' of " + std::string(listing.name) +
                   ": unknown: it takes " + known);
    }
    if (!given.insert(name).second) {
      return usage("parameter '" + name + "': given twice: give it once");
    }
    XSP_TRY(store::Value value, value_of(*found, text));
    cells.push_back(std::move(value));
    append_condition(*found, cells.size(), &where);
  }
  const std::string from = " FROM " + std::string(listing.from) + where;
  ListingPage page;
  const bool is_simple = !listing.counted.empty() &&
                         std::all_of(given.begin(), given.end(),
                                     [&](const auto& one) { return one == listing.counted_by; });
  const std::string counted = is_simple ? " FROM " + std::string(listing.counted) + where : from;
  XSP_TRY(const store::Table count, catalogue.query("SELECT count(*)" + counted, cells));
  page.total = store::int_of(count.rows[0][0]);
  std::string sql = "SELECT ";
  for (const ListingColumn& column : listing.columns) {
    if (sql.size() > 7) sql += ", ";
    sql += std::string(column.sql) + " AS " + std::string(column.name);
  }
  sql += from;
  if (!part.after.empty()) {
    XSP_TRY(Cells keys, keys_of(listing, part.after));
    sql += (where.empty() ? " WHERE " : " AND ") + behind(listing, cells.size() + 1);
    for (store::Value& key : keys) cells.push_back(std::move(key));
  }
  // One row more tells whether there are more.
  sql += order_of(listing) + " LIMIT " + std::to_string(part.limit + 1) + " OFFSET " +
         std::to_string(part.offset);
  XSP_TRY(page.table, catalogue.query(sql, cells));
  if (page.table.rows.size() > static_cast<size_t>(part.limit)) {
    page.table.rows.pop_back();
    if (!page.table.rows.empty()) page.next = cursor_of(listing, page.table.rows.back());
  }
  return page;
}

}  // namespace xsp::catalogue
