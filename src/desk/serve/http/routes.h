// Routes: the API's requests. An area is a file that defines its table of routes; routes.cc joins
// the tables. The same rows dispatch requests, say who may ask, and make the OpenAPI document.
#ifndef XSP_DESK_SERVE_HTTP_ROUTES_H_
#define XSP_DESK_SERVE_HTTP_ROUTES_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/catalogue/access.h"
#include "desk/serve/api.h"
#include "desk/serve/library.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

// Reads a request's body to its end, piece by piece. Fails if the client cut it short, or if `take`
// fails.
using Take = std::function<Status(std::string_view bytes)>;
using Body = std::function<Status(const Take& take)>;

struct Context {
  const Services& services;
  Library& library;
  const Request& request;
  std::vector<std::string> parts;  // the path's parts for the pattern's {}, decoded, in order
  size_t row_limit;                // rows of one answer
  const Body* body = nullptr;      // of routes that take one
};

// Code::kUsage becomes status 400, Code::kNotAvailable 404, Code::kInterrupted 503, and others 500;
// Code::kOutOfMemory 413 if the route takes a body, else 503.
using Handler = Result<nlohmann::json> (*)(const Context&);

struct Parameter {
  std::string name;
  std::string description;
  std::string type = "string";  // of JSON Schema
  bool is_required = false;
};

struct Route {
  std::string_view method;   // "GET", "POST" or "DELETE"
  std::string_view pattern;  // "/evaluations/{}/analyses/{}"
  catalogue::Scope scope;    // that a token needs
  Handler handler;
  std::string summary;                // one sentence
  std::vector<Parameter> parameters;  // for each {} its name, then those of the query
  std::string_view answer;            // JSON Schema of a success
  int success = 200;
  std::string_view body = {};  // media type of the request's body; empty: there is none
  uint64_t (*body_max)(const Services&) = nullptr;         // bytes of the body
  std::string_view (*why_off)(const Services&) = nullptr;  // empty: it is on; else status 403
  bool is_kept = true;         // the answer may be kept until its evaluations change
  int at_once = 0;             // requests that are answered at a time; 0: no bound
  bool is_open_ended = false;  // the query may have further parameters
};

const std::vector<Route>& admin_routes();       // admin.cc: tokens, and the audit log
const std::vector<Route>& compare_routes();     // compare.cc: several evaluations
const std::vector<Route>& document_routes();    // openapi.cc: the description of all routes
const std::vector<Route>& evaluation_routes();  // evaluations.cc: catalogue, evaluations, analyses
const std::vector<Route>& listing_routes();     // listings.cc: the catalogue of many evaluations
const std::vector<Route>& note_routes();        // notes.cc: notes on evaluations
const std::vector<Route>& prediction_routes();  // predictions.cc: models that answer an upload
const std::vector<Route>& query_routes();       // query.cc: SQL over one evaluation
const std::vector<Route>& sweep_routes();       // sweeps.cc: sweeps that requests start
const std::vector<Route>& timeline_routes();    // timeline.cc
const std::vector<Route>& upload_routes();      // upload.cc

// Returns the rows of all areas.
const std::vector<const Route*>& all_routes();

// Returns the requests that a report of these evaluations, in this order, records for their
// comparison: each of them is the reference once, followed by the others in order.
std::vector<std::string> compare_requests(const std::vector<Entry>& entries);

// JSON Schema of rows_json() alone, and of a JSON object of which only its routes know more.
extern const std::string_view kRowsSchema;
extern const std::string_view kObjectSchema;

// Returns a result in the API's form: columns [{name, unit}], rows, total_rows. Rows beyond `limit`
// are left out, and counted.
nlohmann::json rows_json(const store::Table& table, const std::vector<analyze::Column>& columns,
                         size_t limit);
nlohmann::json cell_json(const store::Value& value);  // NaN and infinities become null

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_ROUTES_H_
