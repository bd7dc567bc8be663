// Listings: the questions about a catalogue that the API answers, each with its filters.
//
// A listing is fixed SQL. Filters are compared as parameters, so no text of a request becomes SQL.
#ifndef XSP_DESK_CATALOGUE_LISTING_H_
#define XSP_DESK_CATALOGUE_LISTING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desk/catalogue/catalogue.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

struct ListingColumn {
  std::string_view name;
  std::string_view unit;  // of analyze::units(); "by:COLUMN": that column says it
  std::string_view sql;
};

struct ListingFilter {
  std::string_view name;
  std::string_view description;
  std::string_view sql;   // a condition in which ? is the filter's value
  bool is_whole = false;  // the value is an integer
};

struct Listing {
  std::string_view name;  // "results"
  std::string_view summary;
  std::vector<ListingColumn> columns;
  std::string_view from;
  std::vector<ListingFilter> filters;
  std::string_view order;  // of the rows; it is total, so that pages neither overlap nor leave gaps
  // A table with one row for each of `from`, which counts faster if no filter is given, and the
  // only one that the filter `counted_by` needs. Empty: there is none.
  std::string_view counted = {};
  std::string_view counted_by = {};
};

// Returns the listings, in the order of the documentation.
const std::vector<Listing>& listings();

// The rows from `offset` on, at most `limit`, and how many there are without these two.
struct ListingPage {
  store::Table table;
  int64_t total = 0;
};

// Returns Code::kUsage for a filter that the listing does not have or that is given twice, and for
// a value that is no integer where one is needed.
Result<ListingPage> list(Catalogue& catalogue, const Listing& listing,
                         const std::vector<std::pair<std::string, std::string>>& filters,
                         int64_t limit, int64_t offset);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_LISTING_H_
