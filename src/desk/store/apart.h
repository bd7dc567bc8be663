// Apart: a separate process that keeps an .xsp file open and answers queries about it.
//
// A file may come from an untrusted source, and a database's pages, views and queries act like
// code: they can make the process that reads them crash, hang or use ever more memory. So a process
// that has no other data reads them. It also gives up the permissions that it does not need
// (confine.h). It ends when the process that started it ends.
//
// `xsp` starts itself with one word; SQL goes over a socket pair, and rows come back. The process
// ends when its side of the socket closes. It starts in 12 ms, most of it loading libduckdb. The
// list of 100 files, asked for the first time on two busy processors, takes 7.0 s, and took 5.7 in
// one process; a query of a million rows of two columns takes 1.12 s, and took 0.97. Opening has 30
// s (10 s in the server), a query of the server 60 s, one of a verb ten minutes; then it is
// interrupted, and killed 2 s later. `xsp query` has no limit, because its SQL is the user's; its
// views are not.
//
// Refused: a thread with a watchdog (a crash takes all, and DuckDB does not look for interrupts
// while it binds, opens or follows a damaged pointer); fork without exec (a server has threads,
// whose locks the copy keeps for ever); one process for all files, where one bad file costs the
// others; a second program, one more to install and to find; JSON (texts that are not UTF-8, and a
// million rows take seconds to parse).
#ifndef XSP_DESK_STORE_APART_H_
#define XSP_DESK_STORE_APART_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/store/database.h"
#include "desk/store/wire.h"
#include "shared/base/result.h"
#include "shared/base/scratch.h"

namespace xsp::store {

// A program becomes such a process if this is its only argument.
inline constexpr const char* kApartWord = "--read-apart";

// Makes Database::open() read all further files through `program`, which it starts with kApartWord.
// Without this call, or with an empty name, this process reads them. Call before any other thread
// starts.
void read_apart(std::string program);
const std::string& apart_program();

// Serves queries until the other side closes the socket. Returns the process's exit status. Must be
// the first statement of a program.
int be_apart();

// Returns the restrictions that the kernel cannot impose on such a process. Empty: it can impose
// all.
std::string not_confined();

// Thread rule: one thread at a time, except for interrupt() and is_alive().
class Apart {
 public:
  static Result<std::unique_ptr<Apart>> open(const std::filesystem::path& path,
                                             const ReadLimits& limits);
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  ~Apart();

  // The table is empty if `rows` is kNone; it may not be kStreamed.
  Result<Table> query(std::string_view sql, const std::map<std::string, Value>& parameters,
                      Rows rows);
  // Works like Database::stream().
  Status stream(std::string_view sql, const std::map<std::string, Value>& parameters,
                const TakeRow& take, std::vector<Column>* columns);
  void interrupt();
  bool is_alive() const { return !has_ended_; }

 private:
  using Clock = std::chrono::steady_clock;
  Apart(std::string name, const ReadLimits& limits, std::unique_ptr<ScratchFolder> spill);
  Status start();
  void ask(std::string_view sql, const std::map<std::string, Value>& parameters, Rows rows);
  // Waits for the answer to the last message, which must come within `most`. `columns` gets its
  // columns, and then `take` its rows.
  Status answer(std::chrono::milliseconds most, Rows rows, const TakeRow& take,
                std::vector<Column>* columns);
  std::vector<Column> read_columns();
  // Reads rows up to the first word that is none, and returns that word. If `take` fails, the
  // process is interrupted, and its further rows are skipped.
  Word read_rows(size_t columns, const TakeRow& take, std::optional<Error>* refusal);
  size_t fill(char* to, size_t size);
  Error ended_error() const;
  // Returns why the process ended, or must end.
  Error end(bool is_over);

  std::string name_;
  ReadLimits limits_;
  std::unique_ptr<ScratchFolder> spill_;
  pid_t pid_ = -1;
  int socket_ = -1;
  Clock::time_point until_;
  std::atomic<Clock::rep> kill_at_{0};  // when it is killed if it does not obey an interrupt; 0:
                                        // never
  std::atomic<bool> is_asked_{false};   // a query is waiting for its answer
  std::atomic<bool> has_ended_{false};
  bool is_late_ = false;
  WireReader reader_;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_APART_H_
