// CSV files (RFC 4180), as DuckDB writes them: NULL is empty, an empty text is "".
#include "exporters/shared/exporter.h"
#include "exporters/shared/tables.h"

namespace xsp::exporters {
namespace {

constexpr const char* kEnding = ".csv";

Result<Written> write(const Request& request) {
  return write_tables(request, kEnding, "FORMAT csv, HEADER");
}

}  // namespace

std::vector<Exporter> csv_exporters() {
  return {{"csv", "comma-separated text with a line of names, for spreadsheets and scripts",
           kEnding, Takes::kTables, write}};
}

}  // namespace xsp::exporters
