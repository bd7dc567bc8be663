// Library: the .xsp files of a folder, or a list of them, by name; opened once, and kept open.
//
// At most kOpen databases are open at a time, and share the memory that queries may take. A query
// that takes longer than the limit is broken off.
//
// An evaluation's id is its path in the folder, with '/' between its parts, or the name of a file
// of the list. Files may appear, vanish, change or be half-written at any time: each question looks
// anew, and what cannot be read is listed with the reason.
//
// Thread rule: any number of threads. A Held evaluation is its holder's alone until it is released.
#ifndef XSP_SERVE_LIBRARY_H_
#define XSP_SERVE_LIBRARY_H_

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

#include "base/result.h"
#include "store/database.h"

namespace xsp::serve {

// What the list of evaluations says of one.
struct Entry {
  std::string id;
  uintmax_t size_bytes = 0;
  std::filesystem::file_time_type modified;
  std::string reason;                        // why it cannot be read; empty: it can
  std::map<std::string, std::string> facts;  // the table `evaluation`
  std::vector<int> batches;                  // measured, ascending
};

// What a folder holds, newest first.
struct Listing {
  std::vector<Entry> entries;
  // .xsp files that are too many to be listed; nothing: the folder is too large to be looked
  // through, so there may be more.
  std::optional<size_t> left_out = 0;
};

class Held;

class Library {
 public:
  // Every .xsp file below `folder`, to a depth of kDepth folders; listed are the newest kFiles.
  static Result<std::unique_ptr<Library>> of_folder(const std::filesystem::path& folder);
  // These files; their ids are their names, or their paths where names are the same.
  static Result<std::unique_ptr<Library>> of_files(const std::vector<std::filesystem::path>& files);
  // Another of the same files, whose evaluations other threads may hold meanwhile.
  std::unique_ptr<Library> again() const;
  ~Library();

  static constexpr int kDepth = 4;
  static constexpr size_t kFiles = 1000;
  static constexpr size_t kVisited = 100'000;  // files and folders of any kind
  static constexpr size_t kOpen = 16;
  static constexpr size_t kWaiting = 24;  // that wait for others' evaluations: each keeps a thread
  static constexpr std::chrono::seconds kTurn{20};  // that they wait
  static constexpr std::chrono::seconds kOpening{
      10};  // that opening a file may take, where queries are limited
  static constexpr std::chrono::seconds kRetry{
      60};  // after which one that took longer is tried anew
  static constexpr std::chrono::seconds kListing{60};  // after which a list opens no more files

  // Breaks queries off that take longer; by default none is. Before any other thread comes.
  void limit_queries(std::chrono::milliseconds limit);
  // What all queries together may take of memory, and each of processors; by default what the
  // machine has. Before any other thread comes.
  void limit_memory(uint64_t bytes);
  // From here on nobody waits for a query: what runs fails soon. Any thread.
  void stop();
  // The folder; empty for a list.
  const std::filesystem::path& folder() const { return folder_; }
  // Of each database that is opened.
  const store::ReadLimits& limits() const { return limits_; }

  // One that is not known yet is opened for it, unless others have it for longer than kTurn.
  Listing list();
  // Waits until nobody else holds it, kTurn at most: Code::kInterrupted, at once if too many wait
  // already. Unknown id: Code::kNotAvailable.
  Result<Held> hold(const std::string& id);

  // Leave to wait for what others do, while it lives.
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
  // Tells one state of the file from another; empty: there is no such evaluation.
  std::string version(const std::string& id) const;

 private:
  struct Open;
  class Slot;
  friend class Held;
  using Clock = std::chrono::steady_clock;
  Library() = default;

  // The file of that id, as of now; nothing: there is none, or it is no place of the folder.
  std::optional<std::filesystem::path> find(const std::string& id) const;
  std::map<std::string, std::filesystem::path> files(std::optional<size_t>& left_out) const;
  std::shared_ptr<Open> know(const std::string& id, const std::filesystem::path& path);
  Result<Held> take(std::shared_ptr<Open> one, Clock::time_point until);
  Status read(Open& one, Clock::time_point until);
  void drop(Open& one);
  Result<std::unique_ptr<Slot>> take_slot(Clock::time_point until);
  bool close_idle();
  void watch(std::chrono::milliseconds limit);

  std::filesystem::path folder_;                        // empty: the list
  std::map<std::string, std::filesystem::path> files_;  // of the list
  store::ReadLimits limits_;                            // of each database
  std::atomic<bool> is_stopped_{false};
  std::atomic<size_t> waiting_{0};
  std::atomic<size_t> slots_{0};  // that are taken
  mutable std::mutex mutex_;      // of what follows; nobody opens or closes a file with it
  std::map<std::string, std::shared_ptr<Open>> open_;
  bool is_ending_ = false;
  std::condition_variable ending_;
  std::thread watch_;
};

// An open evaluation that nobody else uses.
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

#endif  // XSP_SERVE_LIBRARY_H_
