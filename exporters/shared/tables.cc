#include "exporters/shared/tables.h"

#include <algorithm>
#include <system_error>

#include "desk/analyze/prelude.h"
#include "desk/store/copies.h"
#include "desk/store/values.h"
#include "shared/base/nearest.h"

namespace xsp::exporters {
namespace {

namespace fs = std::filesystem;

struct Copy {
  std::string query;
  fs::path to;
};

std::string quoted(const std::string& text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out += c == quote ? std::string(2, quote) : std::string(1, c);
  return out + quote;
}

// A statement within another one must not end with a semicolon.
std::string without_end(std::string sql) {
  const size_t last = sql.find_last_not_of("; \t\r\n");
  sql.erase(last == std::string::npos ? 0 : last + 1);
  return sql;
}

Result<std::vector<Copy>> copies_of(const Request& request, const std::string& ending) {
  if (!request.query.empty()) {
    return std::vector<Copy>{{without_end(request.query), request.output}};
  }
  const auto& tables = exported_tables();
  if (!request.table.empty()) {
    if (std::find(tables.begin(), tables.end(), request.table) == tables.end()) {
      return usage("table '" + request.table +
                   "': unknown: " + did_you_mean(request.table, tables, "see xsp export --help"));
    }
    return std::vector<Copy>{{"FROM " + request.table, request.output}};
  }
  std::vector<Copy> copies;
  for (const std::string& table : tables) {
    copies.push_back({"FROM " + table, request.output / (table + ending)});
  }
  return copies;
}

// Returns the error of writing a copy. A full disk is an error of the statement, which names the
// evaluation that it reads, although it is the copy that cannot be written.
Error error_of(const Error& error, const fs::path& file, const fs::path& copy) {
  const std::string name = file.string();
  if (error.code != Code::kFailed || !error.text.starts_with(name)) return error;
  return failed(copy.string() + error.text.substr(name.size()));
}

}  // namespace

const std::vector<std::string>& exported_tables() {
  static const std::vector<std::string> tables = {
      "evaluation", "run",         "block", "span",   "attribute", "counter", "loss",
      "audit_fact", "model_layer", "peak",  "result", "sample",    "stack"};
  return tables;
}

Result<Written> write_tables(const Request& request, const std::string& ending,
                             const std::string& options) {
  XSP_TRY(const std::vector<Copy> copies, copies_of(request, ending));
  const bool is_one = !request.query.empty() || !request.table.empty();
  const fs::path folder = is_one ? fs::absolute(request.output).parent_path() : request.output;
  if (!is_one) {
    std::error_code error;
    if (!fs::create_directory(folder, error)) {
      return failed(folder.string() + ": cannot be made: " + error.message() +
                    ": name another folder with -o");
    }
  }
  XSP_TRY(const std::string count,
          store::with_copies(
              request.file, folder, [&](store::Database& database) -> Result<std::string> {
                int64_t rows = 0;
                for (const Copy& copy : copies) {
                  const std::string sql = "COPY (" + copy.query + "\n) TO " +
                                          quoted(fs::absolute(copy.to).string(), '\'') + " (" +
                                          options + ")";
                  const auto table = analyze::query_with_prelude(database, sql);
                  if (!table.ok()) return error_of(table.error(), request.file, copy.to);
                  if (!table->rows.empty()) rows += store::int_of(table->rows[0][0]);
                }
                return std::to_string(rows);
              }));
  return Written{std::stoull(count), "row"};
}

}  // namespace xsp::exporters
