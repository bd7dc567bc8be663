#include "desk/serve/library.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "shared/base/text.h"

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;

// The library reads at most this many facts of one file; no file that xsp writes has more.
constexpr size_t kFacts = 10'000;
constexpr size_t kBatches = 1'000;

// Holds the properties of a file: while they are unchanged, the data read from it is valid.
struct Stamp {
  uintmax_t size = 0;
  int64_t modified_ns = 0;
  uint64_t inode = 0;  // distinguishes a file that was replaced by a similar one
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {static_cast<uintmax_t>(facts.st_size),
          int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec, facts.st_ino};
}

bool is_of_type(const fs::path& path, mode_t type) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IFMT) == type;
}

// Clients know a file by its id: where the server keeps it is no concern of theirs.
Error told_by_id(Error error, const std::string& path, const std::string& id) {
  for (size_t at = 0; (at = error.text.find(path, at)) != std::string::npos; at += id.size()) {
    error.text.replace(at, path.size(), id);
  }
  return error;
}

Status read_facts(store::Database& database, Entry& entry) {
  const auto facts = database.query(
      "SELECT key, value FROM evaluation WHERE key IS NOT NULL AND value IS NOT NULL ORDER BY key "
      "LIMIT " +
      std::to_string(kFacts));
  if (!facts.ok()) return facts.error();
  entry.facts.clear();
  entry.batches.clear();
  for (const auto& row : facts->rows) {
    entry.facts[check_text(std::get<std::string>(row[0])).text] =
        check_text(std::get<std::string>(row[1])).text;
  }
  const auto batches =
      database.query("SELECT DISTINCT batch FROM run WHERE batch > 0 ORDER BY batch LIMIT " +
                     std::to_string(kBatches));
  if (!batches.ok()) return batches.error();
  for (const auto& row : batches->rows) {
    entry.batches.push_back(static_cast<int>(std::get<int64_t>(row[0])));
  }
  return Ok{};
}

Error unknown(const std::string& id) {
  return not_available("evaluation '" + id +
                       "': not in the served folder: was it renamed or removed?");
}

}  // namespace

// Represents the right to have one database open.
class Library::Slot {
 public:
  explicit Slot(std::atomic<size_t>& count) : count_(count) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { --count_; }

 private:
  std::atomic<size_t>& count_;
};

struct Library::Open {
  Stamp stamp;
  Code code = Code::kFailed;               // with a reason in `entry`
  std::optional<Clock::time_point> retry;  // time to retry an unchanged file
  fs::path path;
  std::timed_mutex mutex;  // the holder locks it
  // The holder changes the following members, with `watched` locked; so does the library if there
  // is no holder.
  std::mutex watched;
  Entry entry;
  bool is_read = false;        // all of `entry` is known
  std::unique_ptr<Slot> slot;  // released after the database
  std::unique_ptr<store::Database> database;
  std::optional<Clock::time_point> held_since;
  Clock::time_point last_used = Clock::now();
};

Library::Wait::Wait(Library& library)
    : library_(library), is_ok_(++library.waiting_ <= Library::kWaiting) {}
Library::Wait::~Wait() { --library_.waiting_; }

void Library::stop() { is_stopped_ = true; }

Library::~Library() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void Library::limit_queries(std::chrono::milliseconds limit) {
  limits_.query = limit;
  limits_.open = std::min<std::chrono::milliseconds>(limit, kOpening);
  watch_ = std::thread([this, limit] { watch(limit); });
}

void Library::limit_memory(uint64_t bytes) {
  // A database with almost no memory could answer nothing.
  limits_.memory_bytes = std::max<uint64_t>(bytes / kOpen, uint64_t{32} << 20);
  limits_.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
}

void Library::watch(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, limit / 8, [this] { return is_ending_; })) {
    for (const auto& [id, one] : open_) {
      const std::lock_guard watched(one->watched);
      if (one->held_since && one->database && Clock::now() - *one->held_since > limit) {
        one->database->interrupt();
      }
    }
  }
}

// Closes the database that has been unused for the longest time. Returns false if all are held.
bool Library::close_idle() {
  std::vector<std::pair<Clock::time_point, std::shared_ptr<Open>>> idle;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, one] : open_) {
      const std::lock_guard watched(one->watched);
      if (one->database && !one->held_since) idle.emplace_back(one->last_used, one);
    }
  }
  std::sort(idle.begin(), idle.end());
  for (const auto& [used, one] : idle) {
    const std::unique_lock holder(one->mutex, std::try_to_lock);
    if (!holder) continue;
    const std::lock_guard watched(one->watched);
    if (!one->database) continue;
    one->database.reset();
    one->slot.reset();
    return true;
  }
  return false;
}

Result<std::unique_ptr<Library::Slot>> Library::take_slot(Clock::time_point until) {
  std::optional<Wait> wait;
  for (;;) {
    if (++slots_ <= kOpen) return std::make_unique<Slot>(slots_);
    --slots_;
    if (close_idle()) continue;
    if (!wait) wait.emplace(*this);
    if (!wait->ok() || Clock::now() >= until) {
      return Error{Code::kInterrupted, "evaluations: too many are in use: ask again later"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<std::unique_ptr<Library>> Library::of_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || !fs::is_directory(real, error)) {
    return usage(folder.string() + ": no such folder: give one that holds .xsp files");
  }
  std::unique_ptr<Library> library(new Library);
  library->folder_ = real;
  library->limits_.stop = &library->is_stopped_;
  return library;
}

Result<std::unique_ptr<Library>> Library::of_files(const std::vector<fs::path>& files) {
  std::unique_ptr<Library> library(new Library);
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error) return usage(file.string() + ": no such file: xsp profile makes one");
    std::string id = file.filename().string();
    if (library->files_.count(id) != 0) id = file.string();
    library->files_[id] = real;
  }
  return library;
}

std::unique_ptr<Library> Library::again() const {
  std::unique_ptr<Library> library(new Library);
  library->folder_ = folder_;
  library->files_ = files_;
  library->limits_ = limits_;
  library->limits_.stop = &library->is_stopped_;
  return library;
}

std::map<std::string, fs::path> Library::files(std::optional<size_t>& left_out) const {
  left_out = 0;
  if (folder_.empty()) return files_;
  struct File {
    fs::file_time_type modified;
    fs::path path;
  };
  std::vector<File> found;
  size_t visited = 0;
  std::error_code error;
  fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++visited > kVisited) left_out.reset();
    if (!left_out) break;
    if (at.depth() >= kDepth - 1) at.disable_recursion_pending();
    std::error_code ignored;
    if (at->path().extension() != ".xsp" || !at->is_regular_file(ignored)) continue;
    if (at->is_symlink(ignored)) continue;  // it could lead out of the folder
    found.push_back({at->last_write_time(ignored), at->path()});
  }
  if (found.size() > kFiles) {
    if (left_out) left_out = found.size() - kFiles;
    std::nth_element(found.begin(), found.begin() + kFiles, found.end(),
                     [](const File& a, const File& b) { return a.modified > b.modified; });
    found.resize(kFiles);
  }
  std::map<std::string, fs::path> files;
  for (File& one : found) {
    files[one.path.lexically_relative(folder_).generic_string()] = std::move(one.path);
  }
  return files;
}

std::optional<fs::path> Library::find(const std::string& id) const {
  if (folder_.empty()) {
    const auto known = files_.find(id);
    if (known == files_.end()) return std::nullopt;
    return known->second;
  }
  // The id must be one that files() could return: no link, no "..", and no deeper than kDepth.
  if (!id.ends_with(".xsp") || id.find('\0') != std::string::npos) return std::nullopt;
  fs::path path = folder_;
  int depth = 0;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = id.find('/', begin);
    const std::string part = id.substr(begin, end == std::string::npos ? end : end - begin);
    if (part.empty() || part == "." || part == ".." || ++depth > kDepth) return std::nullopt;
    path /= part;
    if (!is_of_type(path, end == std::string::npos ? S_IFREG : S_IFDIR)) return std::nullopt;
  }
  return path;
}

std::shared_ptr<Library::Open> Library::know(const std::string& id, const fs::path& path) {
  const Stamp stamp = stamp_of(path);
  std::shared_ptr<Open> old;  // released after the lock: this closes a file
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Open>& one = open_[id];
  if (one && one->stamp == stamp) return one;
  old = std::exchange(one, std::make_shared<Open>());
  one->stamp = stamp;
  one->path = path;
  one->entry.id = id;
  one->entry.size_bytes = stamp.size;
  std::error_code ignored;
  one->entry.modified = fs::last_write_time(path, ignored);
  return one;
}

// Called by the holder: opens the database and reads the facts for the list.
Status Library::read(Open& one, Clock::time_point until) {
  if (one.database && one.database->is_alive()) return Ok{};
  drop(one);
  const bool is_bad = one.is_read && !one.entry.reason.empty();
  if (is_bad && !(one.retry && Clock::now() >= *one.retry))
    return Error{one.code, one.entry.reason};
  XSP_TRY(std::unique_ptr<Slot> slot, take_slot(until));
  auto opened = store::Database::open(one.path, limits_);
  std::unique_ptr<store::Database> database;
  if (opened.ok()) {
    database = std::make_unique<store::Database>(std::move(opened).value());
    {
      const std::lock_guard watched(one.watched);  // from here on a slow reading is interrupted
      one.slot = std::move(slot);
      one.database = std::move(database);
    }
    if (one.is_read && !is_bad) return Ok{};
  }
  Entry entry = one.entry;
  Status status = opened.ok() ? read_facts(*one.database, entry) : Status(opened.error());
  if (!status.ok()) status = told_by_id(status.error(), one.path.string(), entry.id);
  entry.reason = status.ok() ? "" : status.error().text;
  {
    const std::lock_guard watched(one.watched);
    one.entry = std::move(entry);
    // A failure that the file causes stays until the file changes. A slow file is not retried each
    // time.
    const bool is_slow = !status.ok() && status.error().code == Code::kInterrupted;
    one.is_read = opened.ok() || is_slow || opened.error().code == Code::kCorrupt;
    one.retry.reset();
    if (is_slow) one.retry = Clock::now() + kRetry;
    if (!status.ok()) one.code = status.error().code;
  }
  if (!status.ok()) drop(one);
  return status;
}

// Called by the holder.
void Library::drop(Open& one) {
  std::unique_ptr<Slot> slot;  // released after the database, and both after the lock
  std::unique_ptr<store::Database> database;
  const std::lock_guard watched(one.watched);
  slot = std::move(one.slot);
  database = std::move(one.database);
}

Result<Held> Library::take(std::shared_ptr<Open> one, Clock::time_point until) {
  std::unique_lock turn(one->mutex, std::try_to_lock);
  if (!turn) {
    const Wait wait(*this);
    if (!wait.ok() || !turn.try_lock_until(until)) {
      return Error{Code::kInterrupted,
                   "evaluation '" + one->entry.id + "': in use by others: ask again later"};
    }
  }
  Held held(std::move(one), std::move(turn));
  XSP_CHECK_OK(read(*held.open_, until));
  return held;
}

Result<Held> Library::hold(const std::string& id) {
  const auto path = find(id);
  if (!path) return unknown(id);
  return take(know(id, *path), Clock::now() + kTurn);
}

Result<Library::Alone> Library::open_alone(const std::string& id) {
  const auto path = find(id);
  if (!path) return unknown(id);
  XSP_TRY(std::unique_ptr<Slot> slot, take_slot(Clock::now() + kTurn));
  XSP_TRY(store::Database opened, store::Database::open(*path, limits_));
  return Alone{std::move(slot), std::make_unique<store::Database>(std::move(opened))};
}

Listing Library::list() {
  Listing listing;
  const auto now = files(listing.left_out);
  const auto until = Clock::now() + kTurn;
  const auto end = Clock::now() + kListing;
  for (const auto& [id, path] : now) {
    const std::shared_ptr<Open> one = know(id, path);
    const auto copy = [&one](bool is_final) -> std::optional<Entry> {
      const std::lock_guard watched(one->watched);
      if (!is_final && !one->is_read) return std::nullopt;
      return one->entry;
    };
    auto entry = copy(false);
    if (!entry && Clock::now() >= end) {
      entry = copy(true);
      entry->reason = entry->id + ": not looked at yet: others take long: ask again later";
    } else if (!entry) {
      const auto held = take(one, until);
      entry = copy(true);
      if (!held.ok()) entry->reason = held.error().text;
    }
    listing.entries.push_back(std::move(*entry));
  }
  std::vector<std::shared_ptr<Open>> gone;  // closed after the lock
  {
    const std::lock_guard lock(mutex_);
    for (auto one = open_.begin(); one != open_.end();) {
      const bool is_gone = now.count(one->first) == 0;
      if (is_gone) gone.push_back(std::move(one->second));
      one = is_gone ? open_.erase(one) : std::next(one);
    }
  }
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const Entry& a, const Entry& b) { return a.modified > b.modified; });
  return listing;
}

std::string Library::version(const std::string& id) const {
  const auto path = find(id);
  if (!path) return {};
  const Stamp stamp = stamp_of(*path);
  return std::to_string(stamp.size) + "-" + std::to_string(stamp.modified_ns) + "-" +
         std::to_string(stamp.inode);
}

Held::Held(std::shared_ptr<Library::Open> open, std::unique_lock<std::timed_mutex> turn)
    : open_(std::move(open)), lock_(std::move(turn)) {
  const std::lock_guard watched(open_->watched);
  open_->held_since = Library::Clock::now();
}

Held::~Held() {
  if (!open_) return;
  const std::lock_guard watched(open_->watched);
  open_->held_since.reset();
  open_->last_used = Library::Clock::now();
}

store::Database& Held::database() { return *open_->database; }
const Entry& Held::entry() const { return open_->entry; }

}  // namespace xsp::serve
