// prelude: the macros, views and tables of analyses/prelude_*.sql, which the analyses share.
//
// DuckDB plans each macro when it is made, with all macros inside it, so that making all of them
// takes most of a second of processor time. Therefore a session gets those that a query needs: the
// ones that the query names, and the ones that these name. A table that says when it has rows
// (`-- @if CALL() else (COLUMNS)`) is left empty in a file in which that does not hold, and what
// only it needs is not made.
#ifndef XSP_DESK_ANALYZE_PRELUDE_H_
#define XSP_DESK_ANALYZE_PRELUDE_H_

#include <map>
#include <string>
#include <string_view>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze {

// Loads everything into the database's session, and writes nothing to the file. On a database that
// is open for writing, it must be repeated after each change.
Status load_prelude(store::Database& database);

// Loads what `sql` needs and the session lacks, and runs it. On a database that is open for
// writing, call forget_prelude() after each change.
Result<store::Table> query_with_prelude(store::Database& database, std::string_view sql,
                                        const std::map<std::string, store::Value>& parameters = {});
// The subject of the tables that name `asked_for` (analyses/prelude_1_runs.sql).
struct AskedFor {
  store::Value batch;  // an integer; NULL: the smallest batch size
  std::string peaks = "measured";
  int64_t periods = 100;
};
// Sets it for the session. Tables that were made for something else are made anew when a query
// needs them.
Status ask_for(store::Database& database, const AskedFor& asked);
// Makes a session of a database that is open for writing make the tables of the prelude anew,
// because they hold what the database had when they were made.
void forget_prelude(store::Database& database);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_PRELUDE_H_
