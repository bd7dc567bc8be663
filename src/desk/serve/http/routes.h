// Routes: the handlers of each area. An area is a file that defines its table; api.cc joins the
// tables.
#ifndef XSP_DESK_SERVE_HTTP_ROUTES_H_
#define XSP_DESK_SERVE_HTTP_ROUTES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/serve/api.h"
#include "desk/serve/library.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

struct Context {
  Library& library;
  const Request& request;
  std::vector<std::string> parts;  // the path's parts for the pattern's {}, decoded, in order
  size_t row_limit;                // rows of one answer
};

// Code::kUsage becomes status 400, Code::kNotAvailable 404, and others 500.
using Handler = Result<nlohmann::json> (*)(const Context&);

struct Route {
  std::string_view pattern;  // "/evaluations/{}/analyses/{}"
  Handler handler;
};

const std::vector<Route>& evaluation_routes();  // evaluations.cc: catalogue, evaluations, analyses
const std::vector<Route>& compare_routes();     // compare.cc: several evaluations
const std::vector<Route>& timeline_routes();    // timeline.cc

// Returns the requests that a report of these evaluations, in this order, records for their
// comparison: each of them is the reference once, followed by the others in order.
std::vector<std::string> compare_requests(const std::vector<Entry>& entries);

// Returns a result in the API's form: columns [{name, unit}], rows, total_rows. Rows beyond `limit`
// are left out, and counted.
nlohmann::json rows_json(const store::Table& table, const std::vector<analyze::Column>& columns,
                         size_t limit);
nlohmann::json cell_json(const store::Value& value);  // NaN and infinities become null

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_ROUTES_H_
