// Routes: what each area answers. An area is a file that defines its table; api.cc joins them.
#ifndef XSP_SERVE_ROUTES_H_
#define XSP_SERVE_ROUTES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/catalogue.h"
#include "base/result.h"
#include "serve/api.h"
#include "serve/library.h"
#include "store/database.h"

namespace xsp::serve {

struct Context {
  Library& library;
  const Request& request;
  std::vector<std::string> parts;  // what the pattern's {} stand for, decoded, in order
  size_t row_limit;                // of one answer
};

// Code::kUsage is answered with 400, Code::kNotAvailable with 404, others with 500.
using Handler = Result<nlohmann::json> (*)(const Context&);

struct Route {
  std::string_view pattern;  // "/evaluations/{}/analyses/{}"
  Handler handler;
};

const std::vector<Route>& evaluation_routes();  // evaluations.cc: catalogue, evaluations, analyses
const std::vector<Route>& compare_routes();     // compare.cc: several evaluations
const std::vector<Route>& timeline_routes();    // timeline.cc

// What a report of these evaluations, in this order, records of their comparison: with each of them
// as the reference, the others in order.
std::vector<std::string> compare_requests(const std::vector<Entry>& entries);

// A result as the API spells it: columns [{name, unit}], rows, total_rows. Rows beyond `limit` are
// left out, and counted.
nlohmann::json rows_json(const store::Table& table, const std::vector<analyze::Column>& columns,
                         size_t limit);
nlohmann::json cell_json(const store::Value& value);  // NaN and infinities: null

}  // namespace xsp::serve

#endif  // XSP_SERVE_ROUTES_H_
