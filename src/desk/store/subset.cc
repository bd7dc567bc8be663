#include "desk/store/subset.h"

#include <string>
#include <string_view>

#include "desk/store/copies.h"
#include "desk/store/duck.h"
#include "desk/store/values.h"

namespace xsp::store {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::string_view table;
  std::string_view rows;
};

// Sorted rows differ little from their neighbours, and DuckDB compresses them well.
constexpr Part kParts[] = {
    {"evaluation", "FROM evaluation"},
    {"run", "FROM run"},
    {"block", "FROM block"},
    {"span_attribute", "FROM span_attribute SEMI JOIN kept USING (run_id, span_id)"},
    {"span_counter",
     "FROM span_counter SEMI JOIN kept USING (run_id, span_id) ORDER BY run_id, name, span_id"},
    {"site_attribute", "FROM site_attribute"},
    {"site_counter", "FROM site_counter"},
    {"loss", "FROM loss"},
    {"audit_fact", "FROM audit_fact UNION ALL FROM added_fact"},
    {"model_layer", "FROM model_layer"},
    {"peak", "FROM peak"},
    {"result", "FROM result"},
    {"sample", "FROM sample"},
    {"stack", "FROM stack"},
};
// The tables that have the spans in files of format 1, and in those of format 2.
constexpr Part kOldSpans[] = {
    {"span", "FROM span SEMI JOIN kept USING (run_id, span_id) ORDER BY run_id, level, start_ns"}};
constexpr Part kNewSpans[] = {
    {"span_site", "FROM span_site"},
    {"span_row",
     "FROM span_row SEMI JOIN kept USING (run_id, span_id) ORDER BY run_id, level, start_ns"}};

std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char c : path.string()) text += c == '\'' ? std::string("''") : std::string(1, c);
  return text + "'";
}

fs::path file_of(const fs::path& folder, std::string_view table) {
  return folder / (std::string(table) + ".parquet");
}

template <typename Parts>
Status copy_out(Database& database, const Parts& parts, const fs::path& folder) {
  for (const Part& part : parts) {
    XSP_CHECK_OK(database.execute("COPY (" + std::string(part.rows) + ") TO " +
                                  quoted(file_of(folder, part.table)) + " (FORMAT parquet)"));
  }
  return Ok{};
}

// The columns are matched by name, because an older file lacks some.
template <typename Parts>
Status copy_in(Database& database, const Parts& parts, const fs::path& folder) {
  for (const Part& part : parts) {
    XSP_CHECK_OK(database.execute("INSERT INTO " + std::string(part.table) + " BY NAME FROM " +
                                  quoted(file_of(folder, part.table))));
  }
  return Ok{};
}

}  // namespace

Result<Subset> write_subset(const fs::path& file, const fs::path& output,
                            const std::function<Status(Database&)>& choose) {
  XSP_TRY(Database copy, Database::create(output, Blocks::kSmall));
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  const fs::path folder = scratch->path();
  XSP_TRY(const std::string spans,
          with_copies(file, folder, [&](Database& database) -> Result<std::string> {
            XSP_CHECK_OK(choose(database));
            XSP_CHECK_OK(copy_out(database, kParts, folder));
            XSP_TRY(const Table format,
                    database.query("SELECT value = '1', (SELECT count(*) FROM span) "
                                   "FROM evaluation WHERE key = 'xsp_format'"));
            XSP_CHECK_OK(format.rows[0][0] == Value(true) ? copy_out(database, kOldSpans, folder)
                                                          : copy_out(database, kNewSpans, folder));
            return std::to_string(int_of(format.rows[0][1]));
          }));
  const bool is_old = fs::exists(file_of(folder, "span"));
  if (!is_old) XSP_CHECK_OK(copy.execute(kSpansSql));
  XSP_CHECK_OK(copy.execute("BEGIN TRANSACTION; DELETE FROM evaluation"));
  XSP_CHECK_OK(copy_in(copy, kParts, folder));
  XSP_CHECK_OK(is_old ? copy_in(copy, kOldSpans, folder) : copy_in(copy, kNewSpans, folder));
  XSP_CHECK_OK(copy.execute("COMMIT"));
  XSP_TRY(const Table kept, copy.query("SELECT count(*) FROM span"));
  XSP_CHECK_OK(copy.finish());
  return Subset{std::stoll(spans), int_of(kept.rows[0][0])};
}

}  // namespace xsp::store
