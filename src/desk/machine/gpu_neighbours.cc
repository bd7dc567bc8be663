#include "desk/machine/gpu_neighbours.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

namespace xsp::machine {
namespace {

// The first query comes after this time, so that short commands cause none.
constexpr double kFirstAfterS = 1;
constexpr double kEveryS = 1;
constexpr unsigned kProcessesMax = 256;

using Handle = void*;  // nvmlDevice_t
// Layouts of nvmlProcessInfo_t and nvmlProcessUtilizationSample_t.
struct ProcessInfo {
  unsigned process;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned process;
  unsigned long long time_us;
  unsigned multiprocessors_pct, memory_pct, encoder_pct, decoder_pct;
};

// NVML; each of its functions returns 0 for success.
class Nvml {
 public:
  Nvml() {
    library_ = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) return;
    const bool is_whole = load("nvmlInit_v2", &init_) && load("nvmlShutdown", &shut_down_) &&
                          load("nvmlDeviceGetCount_v2", &count_) &&
                          load("nvmlDeviceGetHandleByIndex_v2", &handle_) &&
                          load("nvmlDeviceGetComputeRunningProcesses_v3", &processes_) &&
                          load("nvmlDeviceGetProcessUtilization", &utilization_);
    unsigned count = 0;
    is_on_ = is_whole && init_() == 0;
    if (!is_on_ || count_(&count) != 0) return;
    for (unsigned i = 0; i < count; ++i) {
      Handle gpu = nullptr;
      if (handle_(i, &gpu) == 0) gpus_.push_back(gpu);
    }
    since_us_.resize(gpus_.size());
  }
  ~Nvml() {
    if (is_on_) shut_down_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  size_t gpus() const { return gpus_.size(); }
  // Returns the processes with a context on the GPU, and how busy each was since the last query.
  std::vector<GpuProcess> processes(size_t gpu) {
    std::vector<ProcessInfo> infos(kProcessesMax);
    unsigned count = kProcessesMax;
    if (processes_(gpus_[gpu], &count, infos.data()) != 0) return {};
    std::map<int, double> busy;
    for (unsigned i = 0; i < count; ++i) busy[static_cast<int>(infos[i].process)] = 0;
    std::vector<Utilization> samples(kProcessesMax);
    count = kProcessesMax;
    if (utilization_(gpus_[gpu], samples.data(), &count, since_us_[gpu]) != 0) count = 0;
    std::map<int, std::pair<double, int>> sums;
    for (unsigned i = 0; i < count; ++i) {
      since_us_[gpu] = std::max(since_us_[gpu], samples[i].time_us);
      const int process = static_cast<int>(samples[i].process);
      if (!busy.contains(process)) continue;
      sums[process].first += samples[i].multiprocessors_pct;
      ++sums[process].second;
    }
    for (const auto& [process, sum] : sums) busy[process] = sum.first / sum.second;
    std::vector<GpuProcess> found;
    for (const auto& [process, pct] : busy) found.push_back({process, pct});
    return found;
  }

 private:
  template <typename Function>
  bool load(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(::dlsym(library_, name));
    return *function != nullptr;
  }

  void* library_ = nullptr;
  bool is_on_ = false;
  std::vector<Handle> gpus_;
  std::vector<unsigned long long> since_us_;
  int (*init_)() = nullptr;
  int (*shut_down_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Handle*) = nullptr;
  int (*processes_)(Handle, unsigned*, ProcessInfo*) = nullptr;
  int (*utilization_)(Handle, Utilization*, unsigned*, unsigned long long) = nullptr;
};

std::string name_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return (name.empty() ? "process" : name) + " " + std::to_string(process);
}

}  // namespace

void NeighbourLoad::add(const std::vector<GpuProcess>& on_gpu, const std::set<int>& watched) {
  double busy_pct = 0;
  bool is_shared = false;
  std::set<int> others;
  for (const GpuProcess& one : on_gpu) {
    if (watched.contains(one.process)) {
      is_shared = true;
    } else {
      busy_pct += one.busy_pct;
      if (one.busy_pct > 0) others.insert(one.process);
    }
  }
  if (!is_shared) return;
  busy_pct_ += std::min(busy_pct, 100.0);
  ++questions_;
  others_.merge(others);
}

std::map<std::string, std::string> NeighbourLoad::facts(
    const std::function<std::string(int)>& name) const {
  if (questions_ == 0) return {};
  std::string names;
  for (const int process : others_) names += (names.empty() ? "" : ", ") + name(process);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", busy_pct_ / questions_);
  std::map<std::string, std::string> facts = {{"gpu.other_load_pct", text}};
  if (!names.empty()) facts["gpu.other_programs"] = names;
  return facts;
}

GpuNeighbours::GpuNeighbours(std::function<std::set<int>()> watched)
    : watched_(std::move(watched)), thread_([this] { ask(); }) {}

GpuNeighbours::~GpuNeighbours() {
  if (thread_.joinable()) finish();
}

// Waits so many seconds. Returns false if the watching has ended.
bool GpuNeighbours::wait_s(double seconds) {
  std::unique_lock lock(mutex_);
  return !over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; });
}

void GpuNeighbours::ask() {
  if (!wait_s(kFirstAfterS)) return;
  Nvml nvml;
  if (nvml.gpus() == 0) return;
  do {
    const std::set<int> watched = watched_();
    for (size_t gpu = 0; gpu < nvml.gpus(); ++gpu) {
      const std::vector<GpuProcess> found = nvml.processes(gpu);
      load_.add(found, watched);
      // The name is read now, because the process may have ended by finish().
      for (const GpuProcess& one : found) {
        if (!names_.contains(one.process)) names_[one.process] = name_of(one.process);
      }
    }
  } while (wait_s(kEveryS));
}

std::map<std::string, std::string> GpuNeighbours::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
  return load_.facts([this](int process) { return names_[process]; });
}

}  // namespace xsp::machine
