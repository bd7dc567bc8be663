// Comparisons of several evaluations.
//
//   /compare/TABLE?e=ID&e=ID[&batch=N][&time=host]   TABLE: model, causes, layers, kernels, facts
//
// The answer is that of an analysis, with `evaluations` (the ids in the given order; the first is
// the reference), `batch` (the compared batch size, or null) and `warnings`.
#include "desk/compare/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

constexpr int64_t kBatchMax = 1'000'000'000;
// A report also compares each pair, if there are at most this many files.
constexpr size_t kPairsOf = 3;

Result<compare::CompareOptions> options_of(const Request& request) {
  compare::CompareOptions options;
  for (const auto& [name, value] : request.query) {
    if (name == "e") continue;
    if (name != "batch" && name != "time") {
      return usage("parameter '" + name + "' of compare: unknown: it takes e, batch, time");
    }
    if (request.all(name).size() > 1) {
      return usage("parameter '" + name + "': given twice: give it once");
    }
  }
  if (request.find("batch") != nullptr) {
    XSP_TRY(options.batch, request.integer("batch", 1, 0, kBatchMax));
  }
  const std::string* time = request.find("time");
  if (time != nullptr && *time == "host") options.time = compare::LayerTime::kHost;
  if (time != nullptr && *time != "host" && *time != "work") {
    return usage("time '" + *time + "': neither work nor host");
  }
  return options;
}

Result<json> get_comparison(const Context& context) {
  const std::string& table = context.parts[0];
  const auto& tables = compare::comparison_tables();
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) {
    return not_available("comparison '" + table +
                         "': unknown: there are model, causes, layers, kernels and facts");
  }
  XSP_TRY(const compare::CompareOptions options, options_of(context.request));
  const std::vector<std::string> ids = context.request.all("e");
  if (ids.size() < compare::kComparedMin || ids.size() > compare::kComparedMax) {
    return usage("compare: " + std::to_string(ids.size()) +
                 " evaluations were named: give two to six, each as e=ID");
  }
  // The evaluations are held in a fixed order, independent of the request's, and each only once: so
  // two requests never wait for each other.
  std::map<std::string, Held> held;
  for (const std::string& id : std::set<std::string>(ids.begin(), ids.end())) {
    XSP_TRY(Held one, context.library.hold(id));
    held.emplace(id, std::move(one));
  }
  std::vector<store::Database*> databases;
  for (const std::string& id : ids) databases.push_back(&held.at(id).database());
  const auto comparison = compare::compare(table, databases, options);
  if (!comparison.ok() && comparison.error().code != Code::kNotAvailable) return comparison.error();
  json answer = comparison.ok()
                    ? rows_json(comparison->table, comparison->columns, context.row_limit)
                    : rows_json({}, {}, context.row_limit);
  if (!comparison.ok()) answer["not_measured"] = comparison.error().text;
  answer["comparison"] = table;
  answer["evaluations"] = ids;
  answer["batch"] = comparison.ok() && comparison->batch ? json(*comparison->batch) : json();
  answer["warnings"] = comparison.ok() ? json(comparison->warnings) : json::array();
  return answer;
}

// Returns the batch sizes that the page offers: those that any of the evaluations has.
std::set<int> batches_of(const std::vector<const Entry*>& entries) {
  std::set<int> all;
  for (const Entry* entry : entries) all.insert(entry->batches.begin(), entry->batches.end());
  return all;
}

void add_requests(const std::vector<const Entry*>& entries, std::vector<std::string>* requests) {
  std::string ids;
  for (const Entry* entry : entries) ids += (ids.empty() ? "e=" : "&e=") + encode(entry->id);
  const bool has_device = std::any_of(entries.begin(), entries.end(), [](const Entry* entry) {
    const auto device = entry->facts.find("device");
    return device != entry->facts.end() && device->second.starts_with("cuda");
  });
  const std::string prefix = std::string(kApiPrefix) + "/compare/";
  std::vector<std::string> batches = {""};
  for (const int batch : batches_of(entries)) {
    batches.push_back("batch=" + std::to_string(batch) + "&");
  }
  for (const char* table : {"model", "facts"}) requests->push_back(prefix + table + "?" + ids);
  for (const std::string& batch : batches) {
    for (const char* table : {"causes", "layers", "kernels"}) {
      requests->push_back(prefix + table + "?" + batch + ids);
    }
    if (has_device) requests->push_back(prefix + "layers?" + batch + ids + "&time=host");
  }
}

}  // namespace

const std::vector<Route>& compare_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/compare/{}",
       .scope = catalogue::Scope::kRead,
       .handler = get_comparison,
       .summary = "Two to six evaluations side by side; the first is the reference.",
       .parameters = {{"table", "model, causes, layers, kernels or facts"},
                      {"e", "an evaluation's id; given two to six times", "string", true},
                      {"batch", "the batch size", "integer"},
                      {"time", "host: the time of the layers' host code; else work"}},
       .answer = kRowsSchema},
  };
  return routes;
}

std::vector<std::string> compare_requests(const std::vector<Entry>& entries) {
  std::vector<std::string> requests;
  if (entries.size() < compare::kComparedMin || entries.size() > compare::kComparedMax) {
    return requests;
  }
  for (const Entry& reference : entries) {
    std::vector<const Entry*> all = {&reference};
    for (const Entry& other : entries) {
      if (&other == &reference) continue;
      all.push_back(&other);
      if (entries.size() > 2 && entries.size() <= kPairsOf) {
        add_requests({&reference, &other}, &requests);
      }
    }
    add_requests(all, &requests);
  }
  return requests;
}

}  // namespace xsp::serve
