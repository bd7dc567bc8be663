// run: runs one analysis over one .xsp file.
#ifndef XSP_DESK_ANALYZE_RUN_H_
#define XSP_DESK_ANALYZE_RUN_H_

#include <map>
#include <string>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze {

// Parameters as a person writes them. Missing ones have their defaults.
using Parameters = std::map<std::string, std::string>;

// Returns the analysis's rows, with the columns of its header.
//
// Fails with Code::kUsage for an unknown parameter, or a value that is not of its type. Fails with
// Code::kNotAvailable if a need of the analysis was not measured; the text begins with "not
// measured: " and says why. Missing numbers are never zeros.
Result<store::Table> run(store::Database& database, const Analysis& analysis,
                         const Parameters& parameters = {});

// Returns why the numbers in `table`, which run() returned for the same arguments, are doubtful: an
// interval wider than wanted, a level that distorts, a machine that was disturbed. Each reason is
// one line. A reason that a cell of the table gives already is left out. Usually there are none.
Result<std::vector<std::string>> doubts(store::Database& database, const Analysis& analysis,
                                        const Parameters& parameters, const store::Table& table);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_RUN_H_
