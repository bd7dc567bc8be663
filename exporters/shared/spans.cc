#include "exporters/shared/spans.h"

#include <algorithm>
#include <map>
#include <utility>

#include "desk/store/columns.h"
#include "desk/store/values.h"

namespace xsp::exporters {
namespace {

using store::Database;
using store::int_of;
using store::maybe_double;
using store::maybe_int;
using store::text_of;
using store::Value;

// One row of the query, which has one fact of a span.
struct Row {
  Span span;
  std::optional<Fact> fact;
};

constexpr store::ReadColumn<Row> kColumns[] = {
    {"s.run_id", [](const Value& cell, Row* row) { row->span.run = int_of(cell); }},
    {"s.span_id", [](const Value& cell, Row* row) { row->span.id = int_of(cell); }},
    {"s.parent_id", [](const Value& cell, Row* row) { row->span.parent = maybe_int(cell); }},
    {"s.level",
     [](const Value& cell, Row* row) { row->span.level = static_cast<uint32_t>(int_of(cell)); }},
    {"s.name", [](const Value& cell, Row* row) { row->span.name = text_of(cell); }},
    {"s.type", [](const Value& cell, Row* row) { row->span.type = text_of(cell); }},
    {"s.iteration", [](const Value& cell, Row* row) { row->span.iteration = maybe_int(cell); }},
    {"s.start_ns", [](const Value& cell, Row* row) { row->span.start_ns = int_of(cell); }},
    {"s.duration_ns", [](const Value& cell, Row* row) { row->span.duration_ns = int_of(cell); }},
    {"s.process", [](const Value& cell, Row* row) { row->span.process = maybe_int(cell); }},
    {"s.thread", [](const Value& cell, Row* row) { row->span.thread = maybe_int(cell); }},
    {"s.device", [](const Value& cell, Row* row) { row->span.device = maybe_int(cell); }},
    {"s.stream", [](const Value& cell, Row* row) { row->span.stream = maybe_int(cell); }},
    {"s.correlation_id",
     [](const Value& cell, Row* row) { row->span.correlation = maybe_int(cell); }},
    {"s.is_open",
     [](const Value& cell, Row* row) {
       const bool* flag = std::get_if<bool>(&cell);
       row->span.is_open = flag != nullptr && *flag;
     }},
    {"s.site_id", [](const Value& cell, Row* row) { row->span.site = int_of(cell); }},
    {"CASE WHEN s.level = 6 OR s.span_id = flow.launch_id THEN flow.launch_id END",
     [](const Value& cell, Row* row) { row->span.launch = maybe_int(cell); }},
    {"fact.key",
     [](const Value& cell, Row* row) {
       if (std::holds_alternative<std::monostate>(cell)) return;
       row->fact.emplace().key = text_of(cell);
     }},
    {"fact.text",
     [](const Value& cell, Row* row) {
       if (row->fact) row->fact->text = text_of(cell);
     }},
    {"fact.number",
     [](const Value& cell, Row* row) {
       if (row->fact) row->fact->number = maybe_double(cell);
     }},
};

// A launch and its executions have one correlation id. Of several calls with that id, one inside
// another, the innermost is the launch.
constexpr const char* kFrom = R"(
    FROM wanted s
    LEFT JOIN (SELECT run_id, span_id, key, value AS text, NULL::DOUBLE AS number
               FROM span_attribute
               UNION ALL SELECT run_id, span_id, name, NULL, value FROM span_counter) fact
      USING (run_id, span_id)
    LEFT JOIN (SELECT run_id, correlation_id,
                 arg_max(span_id, start_ns) FILTER (level < 6 AND device IS NULL) AS launch_id
               FROM wanted WHERE correlation_id <> 0 GROUP BY ALL
               HAVING count(*) FILTER (level = 6) > 0) flow
      USING (run_id, correlation_id)
    ORDER BY s.start_ns, s.start_ns + s.duration_ns DESC, s.level, s.depth, s.run_id, s.span_id)";

std::string query_of(const Request& request, std::map<std::string, Value>* parameters) {
  std::string sql = "WITH wanted AS (SELECT * FROM span WHERE true";
  if (request.run) {
    sql += " AND run_id = $run";
    (*parameters)["run"] = *request.run;
  }
  if (request.iterations) {
    sql += " AND iteration BETWEEN $first AND $last";
    (*parameters)["first"] = request.iterations->first;
    (*parameters)["last"] = request.iterations->second;
  }
  return sql + ") SELECT " + store::select_list(kColumns) + kFrom;
}

// The facts of each site, by run and site.
using SiteFacts = std::map<std::pair<int64_t, int64_t>, std::vector<Fact>>;

Result<SiteFacts> read_site_facts(Database& database) {
  SiteFacts facts;
  XSP_CHECK_OK(database.stream(
      "SELECT run_id, site_id, key, value, NULL FROM site_attribute UNION ALL "
      "SELECT run_id, site_id, name, NULL, value FROM site_counter ORDER BY 1, 2, 3",
      {}, [&](std::vector<Value>& row) -> Status {
        facts[{int_of(row[0]), int_of(row[1])}].push_back(
            {text_of(row[2]), text_of(row[3]), maybe_double(row[4])});
        return Ok{};
      }));
  return facts;
}

void add_site_facts(const std::vector<Fact>& facts, Span* span) {
  const size_t own = span->facts.size();
  for (const Fact& fact : facts) {
    const auto end = span->facts.begin() + static_cast<ptrdiff_t>(own);
    const bool has_it = std::any_of(span->facts.begin(), end, [&](const Fact& one) {
      return one.key == fact.key && one.number.has_value() == fact.number.has_value();
    });
    if (!has_it) span->facts.push_back(fact);
  }
}

Error no_spans(const Request& request) {
  std::string what = request.file.string() + ": ";
  if (request.run) what += "run " + std::to_string(*request.run) + ": ";
  return failed(what + (request.iterations ? "no spans in these iterations" : "no spans") +
                ": see xsp query " + request.file.string() + " \"FROM run\"");
}

}  // namespace

Result<Database> open_for_export(const Request& request) {
  store::ReadLimits limits;
  limits.memory_bytes = uint64_t{1} << 30;
  limits.query = std::chrono::hours(24);
  return Database::open(request.file, limits);
}

Result<uint64_t> each_span(Database& database, const Request& request,
                           const std::function<Status(const Span& span)>& take) {
  XSP_TRY(const SiteFacts site_facts, read_site_facts(database));
  uint64_t count = 0;
  std::optional<Span> pending;  // its further facts may follow
  const auto give = [&]() -> Status {
    if (!pending) return Ok{};
    const auto found = site_facts.find({pending->run, pending->site});
    if (found != site_facts.end()) add_site_facts(found->second, &*pending);
    ++count;
    return take(*pending);
  };
  std::map<std::string, Value> parameters;
  const std::string sql = query_of(request, &parameters);
  const Status read = database.stream(sql, parameters, [&](std::vector<Value>& cells) -> Status {
    Row row = store::read_row(kColumns, cells);
    const bool is_next = !pending || pending->run != row.span.run || pending->id != row.span.id;
    if (is_next) {
      XSP_CHECK_OK(give());
      pending = std::move(row.span);
    }
    if (row.fact) pending->facts.push_back(std::move(*row.fact));
    return Ok{};
  });
  XSP_CHECK_OK(read);
  XSP_CHECK_OK(give());
  if (count == 0) return no_spans(request);
  return count;
}

Result<std::vector<std::pair<std::string, std::string>>> facts_of_evaluation(Database& database) {
  XSP_TRY(const store::Table table,
          database.query("SELECT key, value FROM evaluation ORDER BY key"));
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& row : table.rows) facts.emplace_back(text_of(row[0]), text_of(row[1]));
  return facts;
}

}  // namespace xsp::exporters
