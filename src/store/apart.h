// Apart: an .xsp file that a process of its own has open, which answers for it.
//
// A file may come from anybody, and a database's pages, views and queries are code of sorts: they
// can crash, hang and swell whatever reads them. Here they do so to a process that has nothing
// else, and has given up what it does not need (confine.h). It ends with whoever asked for it.
#ifndef XSP_STORE_APART_H_
#define XSP_STORE_APART_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/scratch.h"
#include "store/database.h"
#include "store/wire.h"

namespace xsp::store {

// The word by which a program is asked, as its only argument, to be such a process.
inline constexpr const char* kApartWord = "--read-apart";

// From here on Database::open() has files read by `program`, started with kApartWord; without it,
// or with an empty name, by this process. Before any other thread comes.
void read_apart(std::string program);
const std::string& apart_program();

// Is such a process until nobody asks any more; its exit status. Its first statement in a program.
int be_apart();

// What the kernel does not hold such a process to; empty: it holds it to all.
std::string not_confined();

// Thread rule: one thread at a time, but for interrupt() and is_alive().
class Apart {
 public:
  static Result<std::unique_ptr<Apart>> open(const std::filesystem::path& path,
                                             const ReadLimits& limits);
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  ~Apart();

  // Empty, if rows are not wanted.
  Result<Table> query(std::string_view sql, const std::map<std::string, Value>& parameters,
                      bool wants_rows);
  void interrupt();
  bool is_alive() const { return !has_ended_; }

 private:
  using Clock = std::chrono::steady_clock;
  Apart(std::string name, const ReadLimits& limits, std::unique_ptr<ScratchFolder> spill);
  Status start();
  // What it answers to what was written, within the time.
  Result<Table> answer(std::chrono::milliseconds most);
  size_t fill(char* to, size_t size);
  // Why it ended, or has to.
  Error end(bool is_over);

  std::string name_;
  ReadLimits limits_;
  std::unique_ptr<ScratchFolder> spill_;
  pid_t pid_ = -1;
  int socket_ = -1;
  Clock::time_point until_;
  std::atomic<Clock::rep> kill_at_{0};  // after an interrupt that it does not obey; 0: none
  std::atomic<bool> is_asked_{false};   // it owes an answer
  std::atomic<bool> has_ended_{false};
  bool is_late_ = false;
  WireReader reader_;
};

}  // namespace xsp::store

#endif  // XSP_STORE_APART_H_
