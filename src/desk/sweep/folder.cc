#include "desk/sweep/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "desk/manifest/yaml.h"
#include "shared/base/durable.h"
#include "shared/base/text.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kEndFile = "end.json";
constexpr std::array<std::string_view, 2> kFolders = {"results", "attempts"};
constexpr std::array<const char*, 8> kEnds = {"running", "done",      "done twice",  "failed",
                                              "refused", "timed out", "interrupted", "lost"};

Error error_of(const fs::path& path, const char* what) {
  return failed(path.string() + ": " + what + ": " + std::strerror(errno));
}

// Returns the whole file; empty if it cannot be read.
std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string short_text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string()
             ? check_text(found->get<std::string>(), 4096).text
             : std::string();
}
double number_or_zero(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

Attempt attempt_of(int number, const std::string& text) {
  Attempt attempt;
  attempt.number = number;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return attempt;
  attempt.host = short_text_in(object, "host");
  attempt.pid = static_cast<int64_t>(number_or_zero(object, "pid"));
  attempt.started_at = number_or_zero(object, "started_at");
  attempt.seconds = number_or_zero(object, "seconds");
  attempt.reason = short_text_in(object, "reason");
  const std::string end = short_text_in(object, "end");
  for (size_t i = 0; i < kEnds.size(); ++i) {
    if (end == kEnds[i]) attempt.end = static_cast<End>(i);
  }
  return attempt;
}

std::string json_of(const Attempt& attempt) {
  const json object = {{"host", attempt.host},
                       {"pid", attempt.pid},
                       {"started_at", attempt.started_at},
                       {"seconds", attempt.seconds},
                       {"end", text_of(attempt.end)},
                       {"reason", attempt.reason}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Returns whether there is no more in the folder than what create() leaves that was interrupted.
bool is_as_new(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_part = name.starts_with("plan.json.") && name.ends_with(".part");
    const bool is_own = std::find(kFolders.begin(), kFolders.end(), name) != kFolders.end();
    std::error_code unknown;
    if (!is_part && !(is_own && at->is_directory(unknown) && fs::is_empty(at->path(), unknown))) {
      return false;
    }
  }
  return !error;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

const char* text_of(End end) { return kEnds[static_cast<size_t>(end)]; }

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

FolderLock::~FolderLock() { ::close(fd_); }

Status write_whole(const fs::path& path, const std::string& text) {
  const fs::path part = path.string() + "." + std::to_string(::getpid()) + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return error_of(part, "it cannot be written");
  const bool is_written = write_all(fd, text) && ::fsync(fd) == 0;
  const int wrong = errno;
  ::close(fd);
  if (is_written && ::rename(part.c_str(), path.c_str()) == 0) return Ok{};
  errno = is_written ? errno : wrong;
  const Error error = error_of(path, "it cannot be written");
  ::unlink(part.c_str());
  return error;
}

bool Folder::exists() const {
  std::error_code error;
  return fs::exists(plan_file(), error);
}

Result<Plan> Folder::plan() const {
  if (!exists()) return failed(path_.string() + ": no sweep is there: name the folder of one");
  return plan_of(read_file(plan_file()), plan_file().string());
}

Status Folder::create(const Plan& plan) const {
  std::error_code error;
  if (exists()) {
    return usage(path_.string() +
                 ": it has a plan already: name another folder with -o, or go on " +
                 "with xsp sweep resume " + path_.string());
  }
  if (fs::exists(path_, error) && !is_as_new(path_)) {
    return usage(path_.string() + ": it has other files: name another folder with -o");
  }
  for (const std::string_view name : kFolders) {
    fs::create_directories(path_ / name, error);
    if (error) return failed(path_.string() + ": it cannot be made: " + error.message());
  }
  Status written = write_whole(plan_file(), to_json(plan) + "\n");
  if (!written.ok()) {
    for (const std::string_view name : kFolders) fs::remove(path_ / name, error);
  }
  return written;
}

Result<std::unique_ptr<FolderLock>> Folder::lock() const {
  const fs::path file = path_ / "lock";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return error_of(file, "it cannot be opened");
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return std::make_unique<FolderLock>(fd);
  ::close(fd);
  return failed(path_.string() + ": another xsp sweep works on it: see xsp sweep status " +
                path_.string());
}

std::optional<SweepEnd> Folder::end() const {
  const json object = json::parse(read_file(path_ / kEndFile), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  SweepEnd end = {short_text_in(object, "state"), short_text_in(object, "reason")};
  const bool is_known = end.state == "done" || end.state == "failed" || end.state == "cancelled";
  return is_known ? std::optional(std::move(end)) : std::nullopt;
}

Status Folder::note_end(const std::optional<SweepEnd>& end) const {
  const fs::path file = path_ / kEndFile;
  if (end) {
    const json object = {{"state", end->state}, {"reason", end->reason}};
    return write_whole(file, object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  if (::unlink(file.c_str()) == 0 || errno == ENOENT) return Ok{};
  return error_of(file, "it cannot be removed");
}

fs::path Folder::attempt_file(const Task& task, int attempt, const char* ending) const {
  return path_ / "attempts" / task.name / (std::to_string(attempt) + ending);
}
fs::path Folder::part(const Task& task, int attempt) const {
  return attempt_file(task, attempt, ".xsp.part");
}
fs::path Folder::log(const Task& task, int attempt) const {
  return attempt_file(task, attempt, ".log");
}

bool Folder::is_done(const Task& task) const {
  std::error_code error;
  return fs::exists(result(task), error);
}

std::vector<Attempt> Folder::attempts(const Task& task) const {
  std::vector<Attempt> all;
  std::error_code error;
  for (int number = 1;; ++number) {
    const fs::path file = attempt_file(task, number, ".json");
    if (!fs::exists(file, error)) return all;
    all.push_back(attempt_of(number, read_file(file)));
  }
}

Result<Attempt> Folder::begin(const Task& task, const std::string& host) const {
  std::error_code error;
  fs::create_directories(path_ / "attempts" / task.name, error);
  Attempt attempt;
  attempt.host = host;
  attempt.pid = ::getpid();
  attempt.started_at = now_s();
  for (attempt.number = 1;; ++attempt.number) {
    const fs::path file = attempt_file(task, attempt.number, ".json");
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return error_of(file, "it cannot be written");
    const bool is_written = write_all(fd, json_of(attempt));
    const Error wrong = error_of(file, "it cannot be written");
    ::close(fd);
    if (!is_written) return wrong;
    return attempt;
  }
}

Result<bool> Folder::commit(const Task& task, const Attempt& attempt) const {
  const fs::path from = part(task, attempt.number);
  const fs::path to = result(task);
  if (!make_durable(from)) return error_of(to, "it cannot be written");
  // A link, unlike a renaming, does not replace what is there.
  const bool is_first = ::link(from.c_str(), to.c_str()) == 0;
  if (!is_first && errno != EEXIST) return error_of(to, "it cannot be written");
  // If the machine dies and the name is lost, the task is done again.
  (void)make_durable(results());
  ::unlink(from.c_str());
  return is_first;
}

Status Folder::note(const Task& task, const Attempt& attempt) const {
  return write_whole(attempt_file(task, attempt.number, ".json"), json_of(attempt));
}

}  // namespace xsp::sweep
