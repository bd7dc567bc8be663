#include "desk/catalogue/listing.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

// Returns the column that counts a subject's evaluations.
#define XSP_EVALUATIONS_OF(subject, key) \
  "(SELECT count(*) FROM evaluation e WHERE e." subject " = " key ")"

// A subject is asked for by its id, which has the version, or by its name alone.
const ListingFilter kModel = {"model", "the model's id or name", "(m.id = ? OR m.name = ?)"};
const ListingFilter kFramework = {"framework", "the framework's id or name",
                                  "(f.id = ? OR f.name = ?)"};

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
       {kModel},
       "m.id"},
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
       "d.id"},
      {"frameworks",
       "The frameworks that ran the models.",
       {{"id", "text", "f.id"},
        {"name", "text", "f.name"},
        {"version", "text", "f.version"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("framework", "f.id")}},
       "framework f",
       {kFramework},
       "f.id"},
      {"systems",
       "The machines, each in one state of hardware and software; facts are a JSON object.",
       {{"fingerprint", "text", "s.fingerprint"},
        {"name", "text", "s.name"},
        {"facts", "text", "s.facts"},
        {"evaluations", "count", XSP_EVALUATIONS_OF("system", "s.fingerprint")}},
       "system s",
       {{"system", "the system's fingerprint or name", "(s.fingerprint = ? OR s.name = ?)"}},
       "s.name, s.fingerprint"},
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
       "a.id"},
      {"sweeps",
       "The sweeps, and how many of their tasks are done.",
       {{"id", "text", "w.id"},
        {"state", "text", "w.state"},
        {"created_at", "text", "w.created_at"},
        {"tasks", "count", "(SELECT count(*) FROM task t WHERE t.sweep = w.id)"},
        {"done", "count",
         "(SELECT count(*) FROM task t WHERE t.sweep = w.id AND t.state = 'done')"},
        {"evaluations", "count",
         "(SELECT count(*) FROM evaluation e JOIN task t ON e.task = t.id WHERE t.sweep = w.id)"}},
       "sweep w",
       {{"sweep", "the sweep's id", "w.id = ?"}, {"state", "open or done", "w.state = ?"}},
       "w.created_at DESC, w.id"},
      {"tasks",
       "The tasks of sweeps.",
       {{"id", "text", "t.id"},
        {"sweep", "text", "t.sweep"},
        {"state", "text", "t.state"},
        {"attempt", "count", "t.attempt"},
        {"subject", "text", "t.subject"},
        {"host", "text", "t.host"},
        {"time_s", "number", "t.seconds"}},
       "task t",
       {{"sweep", "the sweep's id", "t.sweep = ?"}, {"state", "the task's state", "t.state = ?"}},
       "t.id"},
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
          "k.metric"};
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
           {"batch", "count", "e.batch"},
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
           {kModel.name, kModel.description,
            "e.model IN (SELECT m.id FROM model m WHERE m.id = ? OR m.name = ?)"},
           {kFramework.name, kFramework.description,
            "e.framework IN (SELECT f.id FROM framework f WHERE f.id = ? OR f.name = ?)"},
           {"system", "the system's fingerprint or name",
            "e.system IN (SELECT s.fingerprint FROM system s WHERE s.fingerprint = ? OR s.name = "
            "?)"},
           {"dataset", "the data set's id", "e.dataset = ?"},
           {"scenario", "the scenario", "e.scenario = ?"},
           {"device", "the device, such as cuda:0", "e.device = ?"},
           {"batch", "the batch size", "e.batch = ?", true},
           {"sweep", "the sweep's id", "e.task IN (SELECT t.id FROM task t WHERE t.sweep = ?)"},
           {"evaluation", "the evaluation's id", "r.evaluation = ?"}},
          "r.metric, r.evaluation",
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
                         int64_t limit, int64_t offset) {
  std::string where;
  Cells cells;
  std::set<std::string> given;
  for (const auto& [name, text] : filters) {
    const ListingFilter* found = nullptr;
    for (const ListingFilter& one : listing.filters) {
      if (one.name == name) found = &one;
    }
    if (found == nullptr) {
      std::string known = "limit, offset";
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
  sql += from + " ORDER BY " + std::string(listing.order) + " LIMIT " + std::to_string(limit) +
         " OFFSET " + std::to_string(offset);
  XSP_TRY(page.table, catalogue.query(sql, cells));
  return page;
}

}  // namespace xsp::catalogue
