#include "serve/library.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;

// What of a file must stay the same for what was read of it to hold.
struct Stamp {
  uintmax_t size = 0;
  fs::file_time_type modified;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& path) {
  std::error_code error;
  Stamp stamp;
  stamp.size = fs::file_size(path, error);
  if (error) stamp.size = 0;
  stamp.modified = fs::last_write_time(path, error);
  return stamp;
}

void read_facts(store::Database& database, Entry& entry) {
  const auto facts = database.query("SELECT key, value FROM evaluation ORDER BY key");
  if (!facts.ok()) {
    entry.reason = facts.error().text;
    return;
  }
  for (const auto& row : facts->rows) {
    entry.facts[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
  }
  const auto batches =
      database.query("SELECT DISTINCT batch FROM run WHERE batch IS NOT NULL ORDER BY batch");
  if (!batches.ok()) {
    entry.reason = batches.error().text;
    return;
  }
  for (const auto& row : batches->rows) {
    entry.batches.push_back(static_cast<int>(std::get<int64_t>(row[0])));
  }
}

}  // namespace

struct Library::Open {
  using Clock = std::chrono::steady_clock;

  Stamp stamp;
  fs::path path;
  Entry entry;
  std::timed_mutex mutex;  // its holder's
  // None: closed for others, or unreadable. Changed by the holder, or where there is none, and with
  // `watched` locked.
  std::unique_ptr<store::Database> database;
  std::mutex watched;  // of what follows, and of the database's life
  std::optional<Clock::time_point> held_since;
  Clock::time_point last_used = Clock::now();
};

Library::~Library() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void Library::limit_queries(std::chrono::milliseconds limit) {
  watch_ = std::thread([this, limit] { watch(limit); });
}

void Library::watch(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, limit / 8, [this] { return is_ending_; })) {
    for (const auto& [id, one] : open_) {
      const std::lock_guard watched(one->watched);
      if (one->held_since && one->database && Open::Clock::now() - *one->held_since > limit) {
        one->database->interrupt();
      }
    }
  }
}

// With mutex_ locked: closes those that nobody holds, the longest unused first, down to kOpen.
void Library::close_idle() {
  std::vector<std::pair<Open::Clock::time_point, Open*>> idle;
  size_t open = 0;
  for (const auto& [id, one] : open_) {
    const std::lock_guard watched(one->watched);
    open += one->database != nullptr;
    if (one->database && !one->held_since) idle.emplace_back(one->last_used, one.get());
  }
  std::sort(idle.begin(), idle.end());
  for (const auto& [used, one] : idle) {
    if (open <= kOpen) break;
    const std::unique_lock holder(one->mutex, std::try_to_lock);
    if (!holder) continue;
    const std::lock_guard watched(one->watched);
    one->database.reset();
    --open;
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
  return library;
}

std::map<std::string, fs::path> Library::files() const {
  if (folder_.empty()) return files_;
  std::map<std::string, fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (found.size() >= kFiles) break;
    if (at.depth() >= kDepth - 1) at.disable_recursion_pending();
    std::error_code ignored;
    if (at->path().extension() != ".xsp" || !at->is_regular_file(ignored)) continue;
    if (at->is_symlink(ignored)) continue;  // it could lead out of the folder
    found[at->path().lexically_relative(folder_).generic_string()] = at->path();
  }
  return found;
}

Result<std::shared_ptr<Library::Open>> Library::open(const std::string& id, const fs::path& path) {
  const std::lock_guard lock(mutex_);
  const Stamp stamp = stamp_of(path);
  close_idle();
  const auto known = open_.find(id);
  if (known != open_.end() && known->second->stamp == stamp) return known->second;
  auto fresh = std::make_shared<Open>();
  fresh->stamp = stamp;
  fresh->path = path;
  fresh->entry.id = id;
  fresh->entry.size_bytes = stamp.size;
  fresh->entry.modified = stamp.modified;
  auto database = store::Database::open(path);
  if (database.ok()) {
    fresh->database = std::make_unique<store::Database>(std::move(database).value());
    read_facts(*fresh->database, fresh->entry);
  } else {
    fresh->entry.reason = database.error().text;
  }
  open_[id] = fresh;
  return fresh;
}

std::vector<Entry> Library::entries() {
  std::vector<Entry> entries;
  const auto now = files();
  for (const auto& [id, path] : now) {
    auto one = open(id, path);
    if (one.ok()) entries.push_back((*one)->entry);
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [&](const auto& one) { return now.count(one.first) == 0; });
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.modified > b.modified; });
  return entries;
}

Result<Held> Library::hold(const std::string& id) {
  const auto now = files();
  const auto found = now.find(id);
  if (found == now.end()) {
    return not_available("evaluation '" + id + "': unknown: see /api/v1/evaluations");
  }
  XSP_TRY(std::shared_ptr<Open> one, open(id, found->second));
  if (!one->entry.reason.empty()) return failed(one->entry.reason);
  std::unique_lock turn(one->mutex, kTurn);
  if (!turn) return Error{Code::kInterrupted, "evaluation '" + id + "': busy: ask again later"};
  Held held(std::move(one), std::move(turn));
  if (held.open_->database == nullptr) {  // it was closed for others
    XSP_TRY(store::Database database, store::Database::open(held.open_->path));
    const std::lock_guard watched(held.open_->watched);
    held.open_->database = std::make_unique<store::Database>(std::move(database));
  }
  return held;
}

std::string Library::version(const std::string& id) const {
  const auto now = files();
  const auto found = now.find(id);
  if (found == now.end()) return {};
  const Stamp stamp = stamp_of(found->second);
  return std::to_string(stamp.size) + "-" +
         std::to_string(stamp.modified.time_since_epoch().count());
}

Held::Held(std::shared_ptr<Library::Open> open, std::unique_lock<std::timed_mutex> turn)
    : open_(std::move(open)), lock_(std::move(turn)) {
  const std::lock_guard watched(open_->watched);
  open_->held_since = Library::Open::Clock::now();
}

Held::~Held() {
  if (!open_) return;
  const std::lock_guard watched(open_->watched);
  open_->held_since.reset();
  open_->last_used = Library::Open::Clock::now();
}

store::Database& Held::database() { return *open_->database; }
const Entry& Held::entry() const { return open_->entry; }

}  // namespace xsp::serve
