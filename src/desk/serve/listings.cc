// The catalogue of many evaluations: its models, frameworks, systems, sweeps, results.
//
//   /results?metric=M&model=M[&limit=N&offset=N]      and the other listings of the catalogue
#include "desk/catalogue/listing.h"
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

constexpr int64_t kRowsDefault = 1000;
constexpr int64_t kRowsMax = 10'000;  // of one answer
constexpr int64_t kOffsetMax = 1'000'000'000;

// Returns the id that the file has in the served folder, or null: no answer tells paths elsewhere.
// Both paths are absolute and have no links.
json id_of(const std::filesystem::path& root, const std::filesystem::path& file) {
  if (root.empty()) return nullptr;
  const auto below = file.lexically_relative(root);
  if (below.empty() || *below.begin() == "..") return nullptr;
  return below.generic_string();
}

std::filesystem::path root_of(const Library& library) {
  if (library.folder().empty()) return {};
  std::error_code error;
  const auto root = std::filesystem::canonical(library.folder(), error);
  return error ? std::filesystem::path() : root;
}

const catalogue::Listing& listing_of(const Request& request) {
  const std::string name = request.path.substr(kApiPrefix.size() + 1);
  for (const catalogue::Listing& one : catalogue::listings()) {
    if (one.name == name) return one;
  }
  return catalogue::listings().front();  // never: the routes are made of the listings
}

Result<json> get_listing(const Context& context) {
  const catalogue::Listing& listing = listing_of(context.request);
  if (context.services.catalogue == nullptr) {
    return not_available(std::string(listing.name) +
                         ": no catalogue is served: start xsp serve with --catalogue");
  }
  XSP_TRY(const int64_t limit, context.request.integer("limit", kRowsDefault, 0, kRowsMax));
  XSP_TRY(const int64_t offset, context.request.integer("offset", 0, 0, kOffsetMax));
  std::vector<std::pair<std::string, std::string>> filters;
  for (const auto& pair : context.request.query) {
    if (pair.first != "limit" && pair.first != "offset") filters.push_back(pair);
  }
  return context.services.catalogue->use<json>(
      [&](catalogue::Catalogue& catalogue) -> Result<json> {
        XSP_TRY(const catalogue::ListingPage page,
                catalogue::list(catalogue, listing, filters, limit, offset));
        std::vector<analyze::Column> columns;
        for (const catalogue::ListingColumn& column : listing.columns) {
          columns.push_back({std::string(column.name), std::string(column.unit), ""});
        }
        json answer = rows_json(page.table, columns, static_cast<size_t>(kRowsMax));
        answer["total_rows"] = page.total;
        answer["offset"] = offset;
        const std::filesystem::path root = root_of(context.library);
        for (size_t i = 0; i < columns.size(); ++i) {
          if (columns[i].name != "file") continue;
          for (json& row : answer["rows"]) {
            const auto path = catalogue.path_of(row[i].get<std::string>());
            row[i] = id_of(root, path);
          }
        }
        return answer;
      });
}

}  // namespace

const std::vector<Route>& listing_routes() {
  static const std::vector<Route> routes = [] {
    static std::vector<std::string> patterns;  // which the routes refer to
    std::vector<Route> all;
    patterns.reserve(catalogue::listings().size());
    for (const catalogue::Listing& listing : catalogue::listings()) {
      std::vector<Parameter> parameters;
      for (const catalogue::ListingFilter& filter : listing.filters) {
        parameters.push_back({std::string(filter.name), std::string(filter.description),
                              filter.is_whole ? "integer" : "string"});
      }
      parameters.push_back({"limit", "the most rows: 1,000, and at most 10,000", "integer"});
      parameters.push_back({"offset", "how many rows are left out before them", "integer"});
      patterns.push_back("/" + std::string(listing.name));
      all.push_back({.method = "GET",
                     .pattern = patterns.back(),
                     .scope = catalogue::Scope::kRead,
                     .handler = get_listing,
                     .summary = std::string(listing.summary),
                     .parameters = std::move(parameters),
                     .answer = kRowsSchema});
    }
    return all;
  }();
  return routes;
}

}  // namespace xsp::serve
