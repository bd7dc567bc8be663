// Parquet files, as DuckDB writes them.
#include "exporters/shared/exporter.h"
#include "exporters/shared/tables.h"

namespace xsp::exporters {
namespace {

constexpr const char* kEnding = ".parquet";

Result<Written> write(const Request& request) {
  return write_tables(request, kEnding, "FORMAT parquet, COMPRESSION zstd");
}

}  // namespace

std::vector<Exporter> parquet_exporters() {
  return {{"parquet", "Parquet, for pandas, Polars, Spark, DuckDB: types are kept", kEnding,
           Takes::kTables, write}};
}

}  // namespace xsp::exporters
