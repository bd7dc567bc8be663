// Folder: the files of a sweep, which are the truth about it.
//
//   plan.json                what is to be done; written once
//   end.json                 how the sweep ended; it is there once it has
//   results/TASK.xsp         the evaluation of a task that is done
//   attempts/TASK/N.json     what became of its attempt N; .log: what it printed
//   attempts/TASK/N.xsp.part the evaluation while it is measured, or that of an attempt that failed
//
// An attempt's number is claimed, and a result appears, by one atomic step each. So any number of
// processes on any number of machines may run the same task: one result remains. The folder may be
// on NFS.
#ifndef XSP_DESK_SWEEP_FOLDER_H_
#define XSP_DESK_SWEEP_FOLDER_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/sweep/plan.h"
#include "shared/base/result.h"

namespace xsp::sweep {

// The end of an attempt.
enum class End {
  kNone,         // it runs, or its machine died
  kDone,         // its evaluation is the result
  kSecond,       // it was done, but another attempt was first
  kFailed,       // the measurement failed
  kRefused,      // it cannot be done there: a framework or a device is missing, a word is wrong
  kTimeout,      // it took longer than the plan allows
  kInterrupted,  // somebody stopped it
  kLost,         // its machine or the connection to it was lost
};
const char* text_of(End end);

struct Attempt {
  int number = 0;
  std::string host;
  int64_t pid = 0;
  double started_at = 0;  // seconds since 1970
  double seconds = 0;     // how long it took
  End end = End::kNone;
  std::string reason;  // why it is not done
};

// The end of a sweep, until it goes on.
struct SweepEnd {
  std::string state;   // "done": each task has a result; "failed": some have none; "cancelled"
  std::string reason;  // why it is not done
};

// Holds a claim on a folder, so that one xsp sweep works on it at a time.
class FolderLock {
 public:
  explicit FolderLock(int fd) : fd_(fd) {}
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the folder with this plan. Fails if it holds another plan, or other files; what an
  // interrupted create() left there is none.
  Status create(const Plan& plan) const;
  bool exists() const;
  Result<Plan> plan() const;
  Result<std::unique_ptr<FolderLock>> lock() const;
  // Return and note how the sweep ended; nothing: it has not, or nobody could note it.
  std::optional<SweepEnd> end() const;
  Status note_end(const std::optional<SweepEnd>& end) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  std::filesystem::path results() const { return path_ / "results"; }
  std::filesystem::path result(const Task& task) const { return results() / (task.name + ".xsp"); }
  std::filesystem::path part(const Task& task, int attempt) const;
  std::filesystem::path log(const Task& task, int attempt) const;

  bool is_done(const Task& task) const;
  // Returns the attempts of a task, the first one first. An attempt whose file is half written is
  // one that runs.
  std::vector<Attempt> attempts(const Task& task) const;

  // Claims the next attempt.
  Result<Attempt> begin(const Task& task, const std::string& host) const;
  // Makes the attempt's evaluation the result, unless another attempt was first. Returns whether it
  // is.
  Result<bool> commit(const Task& task, const Attempt& attempt) const;
  // Writes what became of the attempt.
  Status note(const Task& task, const Attempt& attempt) const;

 private:
  std::filesystem::path attempt_file(const Task& task, int attempt, const char* ending) const;
  std::filesystem::path path_;
};

// Writes a file so that others see the old text or the new one.
Status write_whole(const std::filesystem::path& path, const std::string& text);

std::string host_name();
double now_s();  // since 1970

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_FOLDER_H_
