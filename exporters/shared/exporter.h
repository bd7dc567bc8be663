// Exporters write an .xsp file in the formats of other tools. Each exporters/NAME.cc defines
// NAME_exporters(); the build collects them, so a new format is a new file.
#ifndef XSP_EXPORTERS_SHARED_EXPORTER_H_
#define XSP_EXPORTERS_SHARED_EXPORTER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/result.h"

namespace xsp::exporters {

// A request says what to write, and where. The members that an exporter does not take are empty.
struct Request {
  std::filesystem::path file;    // the .xsp file
  std::filesystem::path output;  // file or folder to write, which does not exist yet
  std::optional<int64_t> run;    // nothing: all runs
  // The first and the last iteration whose spans are written; nothing: all spans.
  std::optional<std::pair<int64_t, int64_t>> iterations;
  std::string table;  // the only table to write; empty: all
  std::string query;  // a query whose rows to write in place of tables; empty: none
};

enum class Takes {
  kSpans,   // writes one file of spans; takes `run` and `iterations`
  kTables,  // writes a folder with a file of each table, or one file for `table` or `query`
};

struct Written {
  uint64_t count = 0;
  std::string what;  // one of the counted things: "span"
};

struct Exporter {
  std::string name;    // the word for --to
  std::string title;   // one line for --help: the format, and what reads it
  std::string ending;  // of a file's name: ".json"
  Takes takes = Takes::kSpans;
  // Writes to request.output. A failure may leave a part of it, which the caller removes.
  Result<Written> (*write)(const Request& request) = nullptr;
};

// Returns all exporters, ordered by name. The build generates this function.
std::vector<Exporter> all_exporters();

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_EXPORTER_H_
