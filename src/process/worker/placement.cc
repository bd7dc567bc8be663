#include "process/worker/placement.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace xsp::process {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc()) {
      threads.push_back(thread);
    }
  }
  std::ranges::sort(threads);  // in the order in which they were started
  return threads;
}

// Returns the number of the first processor of the same core, or the processor's own number where
// the system does not tell.
int core_of(int processor) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                     "/topology/thread_siblings_list");
  int first = processor;
  file >> first;
  return file ? first : processor;
}

const std::vector<int>& processors_in_order(const cpu_set_t& allowed) {
  static const std::vector<int> order = [&] {
    std::vector<Processor> processors;
    for (int number = 0; number < CPU_SETSIZE; ++number) {
      if (CPU_ISSET(number, &allowed)) processors.push_back({number, core_of(number)});
    }
    return cores_first(processors);
  }();
  return order;
}

}  // namespace

std::vector<int> cores_first(const std::vector<Processor>& processors) {
  std::map<int, int> seen;  // by core
  std::vector<std::pair<int, int>> ranked;
  for (const Processor& one : processors) ranked.emplace_back(seen[one.core]++, one.number);
  std::ranges::sort(ranked);
  std::vector<int> order;
  for (const auto& [rank, number] : ranked) order.push_back(number);
  return order;
}

Placement::Placement(unsigned first) {
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;
  const std::vector<int>& order = processors_in_order(allowed_);
  size_t next = first % order.size();
  for (const pid_t thread : threads_of_this_process()) {
    cpu_set_t own;
    if (sched_getaffinity(thread, sizeof own, &own) != 0) continue;
    if (!CPU_EQUAL(&own, &allowed_)) {
      left_alone_.push_back(thread);
      continue;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(order[next]), &one);
    sched_setaffinity(thread, sizeof one, &one);
    next = (next + 1) % order.size();
  }
}

Placement::~Placement() {
  if (CPU_COUNT(&allowed_) == 0) return;
  for (const pid_t thread : threads_of_this_process()) {
    if (std::ranges::find(left_alone_, thread) != left_alone_.end()) continue;
    cpu_set_t own;
    const bool is_known = sched_getaffinity(thread, sizeof own, &own) == 0;
    // A thread that may use several processors was given them meanwhile.
    if (is_known && CPU_COUNT(&own) == 1) {
      sched_setaffinity(thread, sizeof allowed_, &allowed_);
    }
  }
}

}  // namespace xsp::process
