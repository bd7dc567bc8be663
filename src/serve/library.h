// Library: the .xsp files of a folder, or a list of them, by name; opened once, and kept open.
//
// At most kOpen databases are open at a time. A query that takes longer than the limit is broken
// off.
//
// An evaluation's id is its path in the folder, with '/' between its parts, or the name of a file
// of the list. Files may appear, vanish, change or be half-written at any time: each question looks
// anew, and what cannot be read is listed with the reason.
//
// Thread rule: any number of threads. A Held evaluation is its holder's alone until it is released.
#ifndef XSP_SERVE_LIBRARY_H_
#define XSP_SERVE_LIBRARY_H_

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
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

class Held;

class Library {
 public:
  // Every .xsp file below `folder`, to a depth of kDepth folders, kFiles at most.
  static Result<std::unique_ptr<Library>> of_folder(const std::filesystem::path& folder);
  // These files; their ids are their names, or their paths where names are the same.
  static Result<std::unique_ptr<Library>> of_files(const std::vector<std::filesystem::path>& files);
  // Another of the same files, whose evaluations other threads may hold meanwhile.
  std::unique_ptr<Library> again() const;
  ~Library();

  static constexpr int kDepth = 4;
  static constexpr size_t kFiles = 1000;
  static constexpr size_t kOpen = 16;
  static constexpr std::chrono::seconds kTurn{20};  // those who wait keep a thread each

  // Breaks queries off that take longer; by default none is. Before any other thread comes.
  void limit_queries(std::chrono::milliseconds limit);
  // The folder; empty for a list.
  const std::filesystem::path& folder() const { return folder_; }

  // Newest first.
  std::vector<Entry> entries();
  // Waits until nobody else holds it, kTurn at most: Code::kInterrupted. Unknown id:
  // Code::kNotAvailable.
  Result<Held> hold(const std::string& id);
  // Tells one state of the file from another; empty: there is no such evaluation.
  std::string version(const std::string& id) const;

 private:
  struct Open;
  friend class Held;
  Library() = default;
  // Every id with its file, as of now.
  std::map<std::string, std::filesystem::path> files() const;
  Result<std::shared_ptr<Open>> open(const std::string& id, const std::filesystem::path& path);

  std::filesystem::path folder_;                        // empty: the list
  std::map<std::string, std::filesystem::path> files_;  // of the list
  void watch(std::chrono::milliseconds limit);
  void close_idle();

  mutable std::mutex mutex_;  // of what follows
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
