// run: one analysis over one .xsp file.
#ifndef XSP_ANALYZE_RUN_H_
#define XSP_ANALYZE_RUN_H_

#include <map>
#include <string>
#include <vector>

#include "analyze/catalogue.h"
#include "base/result.h"
#include "store/database.h"

namespace xsp::analyze {

// Parameters as a person writes them; those left out take their defaults.
using Parameters = std::map<std::string, std::string>;

// The analysis's rows, with the columns of its header.
//
// Code::kUsage: an unknown parameter, or a value that is not of its type. Code::kNotAvailable: what
// the analysis needs was not measured; the text begins with "not measured: " and says why. There
// are never zeros instead.
Result<store::Table> run(store::Database& database, const Analysis& analysis,
                         const Parameters& parameters = {});

// Why the numbers in `table`, which run() returned for the same arguments, are doubtful: an
// interval that is wider than was wanted, a level that distorts, a machine that was disturbed. One
// line each, and none that a cell of the table says already; usually there are none.
Result<std::vector<std::string>> doubts(store::Database& database, const Analysis& analysis,
                                        const Parameters& parameters, const store::Table& table);

// Makes the macros, views and tables of analyses/prelude_*.sql known to the database's own session;
// nothing is written to the file. run() does so itself; for those who bring their own SQL. A
// database that is written to needs it anew after each change.
Status load_prelude(store::Database& database);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_RUN_H_
