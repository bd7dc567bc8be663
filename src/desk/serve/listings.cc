// The catalogue of many evaluations: its models, frameworks, systems, sweeps, results.
//
//   /results?metric=M&model=M[&limit=N&after=CURSOR]      and the other listings of the catalogue
#include "desk/catalogue/listing.h"
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

constexpr int64_t kRowsDefault = 1000;
constexpr int64_t kRowsMax = 10'000;  // of one answer
constexpr int64_t kOffsetMax = 1'000'000'000;

// Returns the id that the path has in the served folder, or null: no answer tells paths elsewhere.
// Both paths are absolute and have no links.
json id_of(const std::filesystem::path& root, const std::filesystem::path& path) {
  if (root.empty()) return nullptr;
  const auto below = path.lexically_relative(root);
  if (below.empty() || *below.begin() == "..") return nullptr;
  return below.generic_string();
}

// Replaces the files' names in a column by their ids.
void set_ids(const std::filesystem::path& root, const catalogue::Catalogue& catalogue,
             size_t column, json* rows) {
  // Most files are below the catalogue's folder: their names follow its id.
  const json folder = id_of(root, catalogue.path_of("x"));
  const std::string begin =
      folder.is_string() ? folder.get_ref<const std::string&>() : std::string("x");
  for (json& row : *rows) {
    const auto& name = row[column].get_ref<const std::string&>();
    const bool is_below =
        folder.is_string() && !name.starts_with('/') && name.find("..") == std::string::npos;
    row[column] = is_below ? json(begin.substr(0, begin.size() - 1) + name)
                           : id_of(root, catalogue.path_of(name));
  }
}

// Returns the cells as JSON. It takes the texts, whose copies would take a third of the time.
json::array_t take_rows(store::Table table) {
  json::array_t rows;
  rows.reserve(table.rows.size());
  for (std::vector<store::Value>& row : table.rows) {
    json::array_t cells;
    cells.reserve(row.size());
    for (store::Value& value : row) {
      auto* text = std::get_if<std::string>(&value);
      cells.push_back(text != nullptr ? json(std::move(*text)) : cell_json(value));
    }
    rows.emplace_back(std::move(cells));
    std::vector<store::Value>().swap(row);
  }
  return rows;
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
  catalogue::ListingPart part;
  XSP_TRY(part.limit, context.request.integer("limit", kRowsDefault, 0, kRowsMax));
  XSP_TRY(part.offset, context.request.integer("offset", 0, 0, kOffsetMax));
  if (const std::string* after = context.request.find("after")) {
    if (context.request.find("offset") != nullptr) {
      return usage("offset and after: both are given: give one of them");
    }
    if (after->empty()) return usage("after: empty: leave it out for the first rows");
    part.after = *after;
  }
  std::vector<std::pair<std::string, std::string>> filters;
  for (const auto& pair : context.request.query) {
    const std::string& name = pair.first;
    if (name != "limit" && name != "offset" && name != "after") filters.push_back(pair);
  }
  return context.services.catalogue->use<json>(
      [&](catalogue::Catalogue& catalogue) -> Result<json> {
        XSP_TRY(catalogue::ListingPage page, catalogue::list(catalogue, listing, filters, part));
        std::vector<analyze::Column> columns;
        for (const catalogue::ListingColumn& column : listing.columns) {
          columns.push_back({std::string(column.name), std::string(column.unit), ""});
        }
        json answer = rows_json({page.table.columns, {}}, columns, 0);
        answer["rows"] = take_rows(std::move(page.table));
        answer["total_rows"] = page.total;
        answer["offset"] = part.offset;
        if (!page.next.empty()) answer["next"] = page.next;
        const std::filesystem::path root = root_of(context.library);
        for (size_t i = 0; i < columns.size(); ++i) {
          if (columns[i].name == "file") set_ids(root, catalogue, i, &answer["rows"]);
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
      parameters.push_back(
          {"after", "the `next` of the answer before: the rows that follow those", "string"});
      parameters.push_back(
          {"offset",
           "how many rows are left out before them, in place of `after`; if others "
           "insert rows meanwhile, pages overlap or leave gaps",
           "integer"});
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
