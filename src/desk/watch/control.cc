#include "desk/watch/control.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "desk/experiment/plan.h"
#include "process/watch/control_page.h"
#include "shared/base/clock.h"
#include "shared/base/levels.h"
#include "xsp/xsp.h"

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;
using process::Command;
using process::ControlPage;
using process::ProcessSlot;

constexpr double kSameMomentS = 0.01;
constexpr int64_t kLeaveWaitNs = 1'000'000'000;
constexpr useconds_t kLeavePollUs = 2000;

template <typename T>
T load(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

int64_t to_ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

bool is_alive(int process) {
  if (::kill(process, 0) != 0 && errno != EPERM) return false;
  // A process that has ended, but whose parent has not waited for it yet, is not alive.
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || text.compare(name_end, 3, ") Z") != 0;
}

std::string program_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string kind_name(uint32_t kind) {
  constexpr std::array kNames = {"", "model", "optimizer", "mark"};
  return kind < kNames.size() ? kNames[kind] : "";
}

void give(Command* command, uint32_t what, uint32_t levels) {
  __atomic_store_n(&command->what, what, __ATOMIC_RELAXED);
  __atomic_store_n(&command->levels, levels, __ATOMIC_RELAXED);
  __atomic_add_fetch(&command->number, 1, __ATOMIC_RELEASE);
}

Result<ControlPage*> map(const fs::path& path, int flags) {
  const auto refuse = [&path] {
    return failed(path.string() + ": cannot be used: " + std::strerror(errno) +
                  (errno == ENOSPC ? ": name another folder with TMPDIR" : ""));
  };
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return refuse();
  struct stat status = {};
  const bool is_new = (flags & O_CREAT) != 0;
  bool is_good = ::fstat(fd, &status) == 0;
  if (is_new) {
    // Reserves the disk space: on a full disk, a process that writes to an unreserved page is
    // killed.
    errno = ::posix_fallocate(fd, 0, sizeof(ControlPage));
    is_good = errno == 0;
  }
  if (!is_new && is_good && static_cast<size_t>(status.st_size) < sizeof(ControlPage)) {
    errno = EINVAL;
    is_good = false;
  }
  void* memory = MAP_FAILED;
  if (is_good) {
    memory = ::mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  if (memory == MAP_FAILED) return refuse();
  return static_cast<ControlPage*>(memory);
}

}  // namespace

ControlFile::ControlFile(ControlPage* page) : page_(page), start_ns_(clock_ns(CLOCK_MONOTONIC)) {}
ControlFile::ControlFile(ControlFile&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), start_ns_(other.start_ns_) {}
ControlFile& ControlFile::operator=(ControlFile&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(start_ns_, other.start_ns_);
  return *this;
}
ControlFile::~ControlFile() {
  if (page_ != nullptr) ::munmap(page_, sizeof(ControlPage));
}

Result<ControlFile> ControlFile::create(const fs::path& folder, uint32_t levels,
                                        const std::vector<uint32_t>& sets, const Schedule& schedule,
                                        uint64_t bytes_max, const fs::path& output) {
  XSP_TRY(ControlPage* const page, map(folder / process::kControlFile, O_CREAT | O_EXCL));
  page->bytes = sizeof(ControlPage);
  page->owner = ::getpid();
  page->levels = levels;
  page->set_count = static_cast<uint32_t>(std::min<size_t>(sets.size(), process::kSetMax));
  std::copy_n(sets.begin(), page->set_count, page->sets);
  page->delay_ns = to_ns(schedule.delay_s);
  page->duration_ns = to_ns(schedule.duration_s);
  page->first_step = schedule.first_step;
  page->end_step = schedule.end_step;
  page->trace_bytes_max = bytes_max;
  page->sample_hz = schedule.sample_hz;
  page->one_in = schedule.one_in;
  std::error_code error;
  const std::string path = fs::absolute(output, error).string();
  std::memcpy(page->output, path.c_str(), std::min(path.size(), sizeof page->output - 1));
  __atomic_store_n(&page->magic, process::kControlMagic, __ATOMIC_RELEASE);
  return ControlFile(page);
}

Result<ControlFile> ControlFile::open(const fs::path& path) {
  XSP_TRY(ControlPage* const page, map(path, 0));
  ControlFile file(page);
  const bool is_known = __atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) == process::kControlMagic &&
                        page->bytes == sizeof(ControlPage);
  if (!is_known) return failed(path.string() + ": cannot be used: of another version of xsp");
  return file;
}

std::vector<ControlFile> ControlFile::running() {
  std::vector<ControlFile> found;
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().rfind("xsp-", 0) != 0) continue;
    std::error_code inner;
    for (fs::directory_iterator run(it->path(), inner); !inner && run != end;
         run.increment(inner)) {
      std::error_code ignored;
      const fs::path path = run->path() / process::kControlFile;
      if (!fs::is_regular_file(path, ignored)) continue;
      Result<ControlFile> file = open(path);
      if (file.ok() && is_alive(file->page_->owner)) found.push_back(std::move(*file));
    }
  }
  return found;
}

fs::path ControlFile::output() const {
  return std::string(page_->output, ::strnlen(page_->output, sizeof page_->output));
}

std::vector<WatchedProcess> ControlFile::processes() const {
  std::vector<WatchedProcess> all;
  const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  for (const ProcessSlot& slot : page_->slots) {
    WatchedProcess one;
    one.process = load(slot.process);
    if (one.process == 0) continue;
    one.program = program_of(one.process);
    one.levels = levels_text(load(slot.levels));
    one.age_s = static_cast<double>(now_ns - load(slot.start_ns)) * 1e-9;
    one.steps = load(slot.steps);
    one.step_kind = kind_name(load(slot.step_kind));
    one.is_alive = is_alive(one.process);
    all.push_back(one);
  }
  return all;
}

double ControlFile::processors_time_s() const {
  uint64_t all_ns = load(page_->ended_cpu_ns);
  for (const ProcessSlot& slot : page_->slots) all_ns += load(slot.cpu_ns);
  return static_cast<double>(all_ns) * 1e-9;
}

TraceRoom ControlFile::room() const {
  TraceRoom room;
  room.bytes = load(page_->trace_bytes);
  room.bytes_max = load(page_->trace_bytes_max);
  room.left_out = load(page_->left_out);
  const uint32_t given_up = load(page_->given_up) & load(page_->recorded);
  for (uint32_t level = process::kLevelNumbers - 1; level > 0; --level) {
    if ((given_up & XSP_LEVEL_BIT(level)) == 0) continue;
    const int64_t at_ns = load(page_->given_up_ns[level]);
    const double after_s = static_cast<double>(at_ns - start_ns_) * 1e-9;
    // The levels of one group are given up at almost the same time. Each level has the time of the
    // first process that gave it up.
    const bool is_new =
        room.given_up.empty() || after_s - room.given_up.back().after_s > kSameMomentS;
    if (is_new) room.given_up.push_back({0, after_s});
    room.given_up.back().levels |= XSP_LEVEL_BIT(level);
  }
  return room;
}

std::string ControlFile::note_of_unrecorded() const {
  std::string text;
  const auto add = [&text](uint32_t count, const std::string& why) {
    if (count == 0) return;
    text += (text.empty() ? "" : "; ") + std::to_string(count) +
            (count == 1 ? " process was" : " processes were") + " not recorded: " + why;
  };
  add(load(page_->unrecorded),
      std::string("a trace could not be written: ") + std::strerror(load(page_->unrecorded_error)));
  add(load(page_->sanitized), "built with a sanitizer, which would report what xsp does");
  return text;
}

std::vector<WatchedProcess> ControlFile::end() {
  __atomic_store_n(&page_->is_over, 1, __ATOMIC_RELEASE);
  const auto running = [this] {
    std::vector<WatchedProcess> all = processes();
    std::erase_if(all, [](const WatchedProcess& one) { return !one.is_alive; });
    return all;
  };
  std::vector<WatchedProcess> survivors = running();
  if (survivors.empty()) return survivors;
  const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + kLeaveWaitNs;
  while (!running().empty() && clock_ns(CLOCK_MONOTONIC) < end_ns) ::usleep(kLeavePollUs);
  // A survivor that ended on its own meanwhile is not reported.
  std::erase_if(survivors, [](const WatchedProcess& one) { return !is_alive(one.process); });
  return survivors;
}

Status ControlFile::command(What what, uint32_t levels, std::optional<int> process) {
  const uint32_t code = what == What::kStart  ? process::kStart
                        : what == What::kStop ? process::kStop
                                              : process::kLevel;
  if (!process) {
    give(&page_->command, code, levels);
    return Ok{};
  }
  for (ProcessSlot& slot : page_->slots) {
    if (load(slot.process) != *process) continue;
    give(&slot.command, code, levels);
    return Ok{};
  }
  return failed("process " + std::to_string(*process) +
                ": is not watched: see the processes with 'xsp ctl status'");
}

}  // namespace xsp::watch
