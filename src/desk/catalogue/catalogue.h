// Catalogue: an index of evaluations that answers in SQL. Files are the truth: whatever it says
// about them can be read from them again.
//
// A catalogue is an SQLite file, by default beside the results, or a PostgreSQL server. Paths in an
// SQLite catalogue are relative to its folder, if they are below it, so that the folder can be
// moved.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CATALOGUE_CATALOGUE_H_
#define XSP_DESK_CATALOGUE_CATALOGUE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "desk/catalogue/engine.h"
#include "desk/catalogue/figures.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

inline constexpr const char* kFileName = "catalogue.sqlite";

// The files that were added, by what became of them.
struct Added {
  size_t added = 0;
  size_t unchanged = 0;               // they were in the catalogue already
  std::vector<std::string> problems;  // one line for each file that could not be read
};

// Is told after each file.
using Progress = std::function<void(size_t done, size_t all)>;

struct Sweep {
  std::string id;
  std::string name;        // several sweeps may have the same
  std::string spec;        // its file
  std::string state;       // "open", "done", "failed" or "cancelled"
  std::string created_at;  // counts when the sweep is noted for the first time
};

struct Task {
  std::string name;  // unique in its sweep
  std::string spec;
  std::string state;
  int attempt = 0;  // how many there were
  std::string subject;
  double seconds = 0;       // 0: it is not done
  std::string host;         // the machine that did it
  std::string reason = {};  // why it waits, or has no result
};

class Catalogue {
 public:
  // Opens it for writing. Makes the file and the tables if they do not exist.
  static Result<Catalogue> open(const std::string& place);
  // Opens an existing one for reading. The error of an older one has the command that brings it to
  // the version of this xsp: a reader changes nothing that others use.
  static Result<Catalogue> open_for_reading(const std::string& place);

  // Adds .xsp files, and those below folders. A file that is there already is left alone, and a
  // changed one replaces what was known of it. Each file is one transaction. A file that cannot be
  // read costs only itself. Fails if the catalogue cannot be written. Several threads read.
  Result<Added> add(const std::vector<std::filesystem::path>& paths, const Progress& progress = {});
  // Forgets all files, and adds those below `folder`, in one transaction: others see the old
  // catalogue until it is complete. Tasks, sweeps and agents stay.
  Result<Added> rebuild(const std::filesystem::path& folder, const Progress& progress = {});
  // Notes a sweep and its tasks, or replaces what was noted of it, in one transaction.
  Status note_sweep(const Sweep& sweep, const std::vector<Task>& tasks);
  // Returns how long tasks of these subjects took, as the median over all that are noted. A subject
  // of which none is noted is missing.
  Result<std::map<std::string, double>> seconds_of(const std::vector<std::string>& subjects);
  // Runs one statement, which cannot write.
  Result<store::Table> query(std::string_view sql, const Cells& parameters = {});
  // Returns the path of a file in the catalogue, as it can be opened.
  std::filesystem::path path_of(const std::string& file) const;

 private:
  Catalogue(std::unique_ptr<Engine> engine, std::filesystem::path folder)
      : engine_(std::move(engine)), folder_(std::move(folder)) {}
  std::string name_of(const std::filesystem::path& path) const;
  Status add_one(const std::string& name, const FileFigures& file);
  Status forget(const std::string& name);
  Result<Added> add_files(const std::vector<std::filesystem::path>& files, const Progress& progress,
                          bool is_whole);

  std::unique_ptr<Engine> engine_;
  std::filesystem::path folder_;  // of the SQLite file; empty for a server
};

struct Migrated {
  int from = 0;  // version of the tables
  int to = 0;
};
// Brings an existing catalogue to the version of this xsp, in one transaction.
Result<Migrated> migrate(const std::string& place);

// Returns the .xsp files among the paths and below folders among them, in order, each once. Links
// below a folder are not followed.
Result<std::vector<std::filesystem::path>> files_of(
    const std::vector<std::filesystem::path>& paths);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_CATALOGUE_H_
