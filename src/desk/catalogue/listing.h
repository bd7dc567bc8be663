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

// A column, of texts that are never NULL, by which rows are ordered.
struct ListingKey {
  std::string_view column;
  bool descends = false;
};

struct Listing {
  std::string_view name;  // "results"
  std::string_view summary;
  std::vector<ListingColumn> columns;
  std::string_view from;
  std::vector<ListingFilter> filters;
  std::vector<ListingKey> order;  // of the rows; it is total, so that a row's keys tell its place
  // A table with one row for each of `from`, which counts faster if no filter is given, and the
  // only one that the filter `counted_by` needs. Empty: there is none.
  std::string_view counted = {};
  std::string_view counted_by = {};
};

// Returns the listings, in the order of the documentation.
const std::vector<Listing>& listings();

// Which rows are wanted: at most `limit`, from `offset` on or after a row. Pages that follow each
// other by `after` have each row once that is there all the while, whatever is inserted or removed
// meanwhile; with `offset`, rows move.
struct ListingPart {
  int64_t limit = 0;
  int64_t offset = 0;
  std::string after = {};  // the `next` of the page before; empty: the first page
};

struct ListingPage {
  store::Table table;
  int64_t total = 0;  // rows that fit the filters
  // A cursor: the place of the last row, by its keys. It stays valid if that row is removed. Empty:
  // there are no more rows.
  std::string next;
};

// Returns Code::kUsage for a filter that the listing does not have or that is given twice, for a
// value that is no integer where one is needed, and for a cursor that is not the listing's.
Result<ListingPage> list(Catalogue& catalogue, const Listing& listing,
                         const std::vector<std::pair<std::string, std::string>>& filters,
                         const ListingPart& part);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_LISTING_H_
