// Engine: the database that holds a catalogue, SQLite or PostgreSQL.
//
// SQL is what both engines understand. Parameters are $1, $2, ..., in the order of their first
// use. Each engine's library is loaded at run time, so xsp needs neither to start.
//
// Refused: ODBC and libpqxx (a second library on top of the one that does the work); linking (a
// machine that only profiles needs neither engine); the headers (a build needs no more packages
// for the twenty functions that are called, whose interfaces have not changed in ten years).
//
// Thread rule: one thread at a time per Engine.
#ifndef XSP_DESK_CATALOGUE_ENGINE_H_
#define XSP_DESK_CATALOGUE_ENGINE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

using Cells = std::vector<store::Value>;

class Engine {
 public:
  virtual ~Engine() = default;
  // Runs one statement, and returns its rows. Cells are integers, doubles, texts, truth values or
  // NULL.
  virtual Result<store::Table> query(std::string_view sql, const Cells& parameters = {}) = 0;
  // Begins a transaction that only one writer at a time can have; others wait for it.
  virtual Status begin_write() = 0;
  // Begins a transaction that cannot write.
  virtual Status begin_read() = 0;
  // Returns the SQL of the engine's own time, in seconds since 1970. Machines' clocks differ.
  virtual const char* now() const = 0;
  // Returns false if the connection to the server is lost.
  virtual bool is_connected() const = 0;
  // Opens a lost connection again.
  virtual Status reconnect() = 0;
};

// Returns whether the place names a server, and not a file.
bool is_server(std::string_view place);

// Returns the place as a file may keep it for another process: a path is absolute, and an address
// has no password.
std::string lasting_place(const std::string& place);

// Opens the catalogue at `place`, a path or "postgresql://...". A file that does not exist is made,
// unless it is opened for reading. Fails with Code::kNotAvailable if the engine's library is not
// installed.
Result<std::unique_ptr<Engine>> open_engine(const std::string& place, bool is_for_reading);

// Runs a statement whose rows are of no interest.
Status run(Engine& engine, const std::string& sql, const Cells& parameters = {});

store::Value text_or_null(const std::string& text);

// For this folder: one function for each engine.
Result<std::unique_ptr<Engine>> open_sqlite(const std::string& path, bool is_for_reading);
Result<std::unique_ptr<Engine>> open_postgres(const std::string& address);

// Runs `work` as one transaction that writes. If the connection is lost, tries for at most
// `patience_s` to open it again, and runs `work` once more. So `work` must give the same result
// if it runs twice. A `stop` that is not 0 ends the patience.
inline constexpr int kPatienceSeconds = 60;
Status write_whole(Engine& engine, const std::function<Status()>& work,
                   int patience_s = kPatienceSeconds, const std::atomic<int>* stop = nullptr);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_ENGINE_H_
