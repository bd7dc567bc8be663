// Writes tables of an .xsp file as files of a format that DuckDB writes itself.
#ifndef XSP_EXPORTERS_SHARED_TABLES_H_
#define XSP_EXPORTERS_SHARED_TABLES_H_

#include <string>
#include <vector>

#include "exporters/shared/exporter.h"
#include "shared/base/result.h"

namespace xsp::exporters {

// Returns the tables and views that are written if none is named, in this order.
const std::vector<std::string>& exported_tables();

// Writes the request's query or table to the file request.output, or each table to a file NAME +
// `ending` in the folder request.output. `options` are those of COPY: "FORMAT parquet".
Result<Written> write_tables(const Request& request, const std::string& ending,
                             const std::string& options);

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_TABLES_H_
