// Summary: a Parquet file beside an .xsp file, with what the catalogue says about it: one row for
// each figure. A folder of them is a table that DuckDB, pandas and Spark read without xsp:
//
//   SELECT model, batch, value FROM 'results/*.summary.parquet' WHERE metric = 'throughput'
#ifndef XSP_DESK_CATALOGUE_SUMMARY_H_
#define XSP_DESK_CATALOGUE_SUMMARY_H_

#include <cstddef>

#include "desk/catalogue/catalogue.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

inline constexpr const char* kSummaryEnding = ".summary.parquet";

// Writes NAME.summary.parquet beside each file NAME.xsp of the catalogue that has none, or one that
// is older than the file. Returns how many it wrote. The calling process must have no other
// threads.
Result<size_t> write_summaries(Catalogue& catalogue);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_SUMMARY_H_
