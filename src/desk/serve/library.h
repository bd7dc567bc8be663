// Library: the .xsp files of a folder, or of a list, by name. It opens each once, and keeps it
// open.
//
// At most kOpen databases are open at a time, and share the memory that queries may take. A query
// that takes longer than the limit is interrupted.
//
// An evaluation's id is its path in the folder, with '/' between its parts, or the name of a file
// of the list. Files may appear, vanish, change or be half-written at any time: each call looks at
// the folder again, and lists a file that cannot be read with the reason.
//
// Thread rule: any number of threads. A Held evaluation belongs to its holder until it is released.
#ifndef XSP_DESK_SERVE_LIBRARY_H_
#define XSP_DESK_SERVE_LIBRARY_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::serve {

// Holds the facts of an evaluation that the list shows.
struct Entry {
  std::string id;
  uintmax_t size_bytes = 0;
  std::filesystem::file_time_type modified;
  std::string reason;                        // why it cannot be read; empty if it can
  std::map<std::string, std::string> facts;  // the table `evaluation`
  std::vector<int> batches;                  // measured batch sizes, ascending
};

// Lists the evaluations of a folder, newest first.
struct Listing {
  std::vector<Entry> entries;
  // The number of .xsp files that are left out of the list. No value means that the folder is too
  // large to be searched, so there may be more.
  std::optional<size_t> left_out = 0;
};

class Held;

class Library {
 public:
  // Opens all .xsp files below `folder`, to a depth of kDepth folders. The list has the newest
  // kFiles.
  static Result<std::unique_ptr<Library>> of_folder(const std::filesystem::path& folder);
  // Opens these files. Their ids are their names, or their paths where names are the same.
  static Result<std::unique_ptr<Library>> of_files(const std::vector<std::filesystem::path>& files);
  // Returns another library of the same files; other threads may hold its evaluations meanwhile.
  std::unique_ptr<Library> again() const;
  ~Library();

  static constexpr int kDepth = 4;
  static constexpr size_t kFiles = 1000;
  static constexpr size_t kVisited = 100'000;  // files and folders of any kind
  static constexpr size_t kOpen = 16;
  static constexpr size_t kWaiting = 24;               // threads that wait for held evaluations
  static constexpr std::chrono::seconds kTurn{20};     // longest time that they wait
  static constexpr std::chrono::seconds kOpening{10};  // for opening a file, if queries are limited
  static constexpr std::chrono::seconds kRetry{60};    // until a file that took longer is retried
  static constexpr std::chrono::seconds kListing{60};  // after this time a list opens no more files

  // Interrupts queries that take longer; by default no query is interrupted. Must be called before
  // other threads start.
  void limit_queries(std::chrono::milliseconds limit);
  // Limits the memory that all queries together may take, and the processors of each; by default
  // the machine's. Must be called before other threads start.
  void limit_memory(uint64_t bytes);
  // Makes running queries fail soon. Nothing waits for a query any more. Any thread.
  void stop();
  // Returns the folder; empty for a list.
  const std::filesystem::path& folder() const { return folder_; }
  // Returns the limits of each opened database.
  const store::ReadLimits& limits() const { return limits_; }

  // Opens the evaluations that are not known yet, except those that others hold for longer than
  // kTurn.
  Listing list();
  // Waits until the evaluation is free, for at most kTurn. Returns Code::kInterrupted after that,
  // or at once if too many threads wait already, and Code::kNotAvailable if the id is unknown.
  Result<Held> hold(const std::string& id);
  // A database that nobody else uses, and its place among those that may be open.
  class Slot;
  struct Alone {
    std::shared_ptr<Slot> slot;  // released after the database
    std::unique_ptr<store::Database> database;
  };
  // Opens the evaluation anew, for statements that change their session. Waits like hold() for a
  // place.
  Result<Alone> open_alone(const std::string& id);

  // Represents the permission to wait for other threads, during its lifetime.
  class Wait {
   public:
    explicit Wait(Library& library);
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();
    bool ok() const { return is_ok_; }

   private:
    Library& library_;
    bool is_ok_;
  };
  // Returns the file of that id as of now. Returns nothing if there is none, or if the id is no
  // place in the folder.
  std::optional<std::filesystem::path> find(const std::string& id) const;
  // Returns a text that identifies the state of the file; empty if there is no such evaluation.
  std::string version(const std::string& id) const;

 private:
  struct Open;
  friend class Held;
  using Clock = std::chrono::steady_clock;
  Library() = default;

  std::map<std::string, std::filesystem::path> files(std::optional<size_t>& left_out) const;
  std::shared_ptr<Open> know(const std::string& id, const std::filesystem::path& path);
  Result<Held> take(std::shared_ptr<Open> one, Clock::time_point until);
  Status read(Open& one, Clock::time_point until);
  void drop(Open& one);
  Result<std::unique_ptr<Slot>> take_slot(Clock::time_point until);
  bool close_idle();
  void watch(std::chrono::milliseconds limit);

  std::filesystem::path folder_;                        // empty for a list
  std::map<std::string, std::filesystem::path> files_;  // for a list
  store::ReadLimits limits_;                            // limits of each database
  std::atomic<bool> is_stopped_{false};
  std::atomic<size_t> waiting_{0};
  std::atomic<size_t> slots_{0};  // taken slots
  mutable std::mutex mutex_;      // guards the following; no file is opened or closed under it
  std::map<std::string, std::shared_ptr<Open>> open_;
  bool is_ending_ = false;
  std::condition_variable ending_;
  std::thread watch_;
};

// Represents an open evaluation that only its holder uses.
class Held {
 public:
  Held(Held&&) noexcept = default;
  ~Held();
  store::Database& database();
  const Entry& entry() const;

 private:
  friend class Library;
  Held(std::shared_ptr<Library::Open> open, std::unique_lock<std::timed_mutex> turn);
  std::shared_ptr<Library::Open> open_;
  std::unique_lock<std::timed_mutex> lock_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_LIBRARY_H_
