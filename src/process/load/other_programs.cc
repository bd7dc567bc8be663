#include "process/load/other_programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include "shared/base/words.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

constexpr std::chrono::milliseconds kPeriod{250};
constexpr int64_t kTicksMin = 2;  // the counters of two looks differ by one tick by chance
constexpr size_t kUserTicks = 11, kSystemTicks = 12;  // fields of stat, behind the name
constexpr uint32_t kFirstThread = 1u << 21;           // which is no thread's: see request_spans.h

// Returns the begin of a file of /proc; empty: it cannot be read.
std::string read_begin(const std::string& path) {
  char text[1024];
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

int64_t number_of(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Parses /proc/PID/stat. A name may have blanks and brackets.
ProgramTimes::Process process_of(const std::string& stat) {
  const size_t begin = stat.find('('), end = stat.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const std::vector<std::string> fields = split(std::string_view(stat).substr(end + 1), ' ');
  if (fields.size() <= kSystemTicks) return {};
  return {stat.substr(begin + 1, end - begin - 1),
          number_of(fields[kUserTicks]) + number_of(fields[kSystemTicks])};
}

// Parses the first line of /proc/stat: user nice system idle iowait irq softirq steal.
void add_machine(const std::string& stat, ProgramTimes* times) {
  std::vector<int64_t> numbers;
  const std::string_view line = std::string_view(stat).substr(0, stat.find('\n'));
  for (const std::string& field : split(line, ' ')) {
    if (field != "cpu") numbers.push_back(number_of(field));
  }
  if (numbers.size() < 8) return;
  times->busy = numbers[0] + numbers[1] + numbers[2] + numbers[5] + numbers[6];
  times->stolen = numbers[7];
}

}  // namespace

ProgramTimes read_program_times(const std::string& proc) {
  ProgramTimes times;
  DIR* const folder = ::opendir(proc.c_str());
  if (folder == nullptr) return times;
  while (const dirent* entry = ::readdir(folder)) {
    const int number = static_cast<int>(number_of(entry->d_name));
    if (number <= 0) continue;
    ProgramTimes::Process process = process_of(read_begin(proc + "/" + entry->d_name + "/stat"));
    if (number == ::getpid()) {
      times.own = process.ticks;
    } else {
      times.processes.emplace(number, std::move(process));
    }
  }
  ::closedir(folder);
  add_machine(read_begin(proc + "/stat"), &times);
  return times;
}

std::map<std::string, int64_t> used_between(const ProgramTimes& before, const ProgramTimes& after) {
  std::map<std::string, int64_t> used;
  int64_t seen = after.own - before.own;
  for (const auto& [number, process] : after.processes) {
    const auto found = before.processes.find(number);
    // A number that another process has now began anew.
    const bool is_same = found != before.processes.end() && found->second.ticks <= process.ticks;
    const int64_t ticks = process.ticks - (is_same ? found->second.ticks : 0);
    used[process.name] += ticks;
    seen += ticks;
  }
  used["programs not seen"] += after.busy - before.busy - seen;
  used["other virtual machines"] += after.stolen - before.stolen;
  std::erase_if(used, [](const auto& one) { return one.second < kTicksMin; });
  return used;
}

OtherPrograms::OtherPrograms() : cpu_key_(xsp_intern_key("cpu_ns")), thread_([this] { watch(); }) {}

OtherPrograms::~OtherPrograms() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void OtherPrograms::watch() {
  pthread_setname_np(pthread_self(), "xsp-programs");
  ProgramTimes before = read_program_times("/proc");
  int64_t start_ns = xsp_now_ns();
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kPeriod, [this] { return is_stopped_; })) {
    ProgramTimes after = read_program_times("/proc");
    const int64_t end_ns = xsp_now_ns();
    emit(used_between(before, after), start_ns, end_ns);
    before = std::move(after);
    start_ns = end_ns;
  }
}

void OtherPrograms::emit(const std::map<std::string, int64_t>& used, int64_t start_ns,
                         int64_t end_ns) {
  const double tick_ns = 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (const auto& [name, ticks] : used) {
    const auto next = static_cast<uint32_t>(kFirstThread + threads_.size());
    xsp_value value{cpu_key_, XSP_VALUE_COUNTER, {}};
    value.value.as_double = static_cast<double>(ticks) * tick_ns;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = xsp_intern_site(XSP_LEVEL_APPLICATION, name.c_str(), "other program");
    span.thread = threads_.emplace(name, next).first->second;
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    span.values = &value;
    span.value_count = 1;
    xsp_emit(&span);
  }
}

}  // namespace xsp::process
