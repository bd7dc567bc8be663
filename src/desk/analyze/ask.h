// Ask: the answer to SQL that a user wrote, which may have any number of rows and any columns.
//
// Thread rule: one thread at a time per Database.
#ifndef XSP_DESK_ANALYZE_ASK_H_
#define XSP_DESK_ANALYZE_ASK_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze {

struct Asked {
  store::Table table;
  std::vector<Column> columns;  // with their units, one for each column of the table
  bool is_cut = false;          // there are more rows; nobody counted them
};

// Runs statements with the prelude, and returns the first rows of the last one: so many, of which
// the texts take so many bytes. The statements may change their session.
Result<Asked> ask(store::Database& database, std::string_view sql, size_t rows, size_t bytes);

// Returns the unit from the end of a column's name: "latency_ns" has "ns", "name" has "text" or
// "number".
std::string unit_of_name(std::string_view name, bool is_number);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_ASK_H_
