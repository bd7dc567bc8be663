#include "collectors/cupti/counting_session.h"

#include <algorithm>
#include <cmath>

#include "collectors/cupti/counting_match.h"

namespace xsp::cupti {
namespace {

constexpr const char* kDurationMetric = "gpu__time_duration.sum";
constexpr size_t kRangesMin = 64;
constexpr size_t kRangesMax = 4096;  // a range takes 1 to 2 MB of the host's memory
constexpr const char* kLossSource = "cupti";
constexpr const char* kGraphs =
    "counters: the model launches a CUDA graph, which CUPTI does not run while it counts kernels: "
    "profile it without --cuda-graph, or with --replay application";
constexpr const char* kGraphCause = "kernels of a CUDA graph cannot be counted one by one";

// Makes a context current during its lifetime.
class Current {
 public:
  Current(const CountingApi& api, CUcontext context) : api_(api) {
    is_pushed_ = api.cuCtxPushCurrent(context) == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext popped = nullptr;
    if (is_pushed_) (void)api_.cuCtxPopCurrent(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const CountingApi& api_;
  bool is_pushed_ = false;
};

// Estimates the number of launches of an inference from those before it; all of them, if they do
// not repeat.
size_t launches_of_inference(const std::vector<Launch>& before) {
  std::vector<uint32_t> kernels;
  for (const Launch& launch : before) kernels.push_back(launch.kernel);
  const size_t repeated = repeated_length(kernels);
  return repeated == 0 ? before.size() : repeated;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

CountingSession::CountingSession(const CountingApi& api, const CountingOptions& options,
                                 KernelSites* sites, Note note)
    : api_(api), options_(options), note_(std::move(note)), launches_(api), sites_(sites) {}

std::unique_ptr<CountingSession> CountingSession::open(const CountingApi& api,
                                                       const std::string& chip_name,
                                                       const CountingOptions& options,
                                                       KernelSites* sites, Note note,
                                                       std::string* why) {
  std::unique_ptr<CountingSession> session(
      new CountingSession(api, options, sites, std::move(note)));
  if (!session->plan(chip_name, why) || !session->launches_.subscribe(why)) return nullptr;
  return session;
}

bool CountingSession::plan(const std::string& chip_name, std::string* why) {
  chip_ = Chip::open(api_, chip_name, why);
  if (chip_ == nullptr) return false;
  std::vector<std::string> unknown;
  const auto has_metric = [&](const std::string& metric) { return chip_->has_metric(metric); };
  plan_ = plan_counters(options_.counters, has_metric, &unknown);
  if (!unknown.empty()) {
    *why = "counter '" + unknown.front() + "': " + chip_name +
           " has no such metric: see docs/counters.md for those of the set roofline";
    return false;
  }
  const auto at = std::find(plan_.metrics.begin(), plan_.metrics.end(), kDurationMetric);
  duration_metric_ = static_cast<size_t>(at - plan_.metrics.begin());
  if (at == plan_.metrics.end() && chip_->has_metric(kDurationMetric)) {
    plan_.metrics.emplace_back(kDurationMetric);
  }
  config_ = chip_->configure(plan_.metrics, why);
  if (config_.empty()) return false;
  if (!plan_.absent.empty()) {
    note_("counters: " + chip_name + " has none for " + joined(plan_.absent));
  }
  std::vector<std::string> names;
  for (const CounterPlan::Counter& counter : plan_.counters) names.push_back(counter.name);
  emitter_ = std::make_unique<CountingEmitter>(options_.levels, names, sites_);
  return true;
}

uint64_t CountingSession::runs_needed() {
  if (!is_decided_) {
    is_decided_ = true;
    replay_ = options_.replay == XSP_REPLAY_KERNEL ? Replay::kKernel : Replay::kApplication;
    if (replay_ == Replay::kKernel && !fits_kernel_replay()) {
      note_(
          "counters: less memory is free than in use, and kernel replay keeps a copy: it may take "
          "long or fail: use --replay application");
    }
    say_what_it_takes();
  }
  return replay_ == Replay::kApplication ? chip_->passes() : 1;
}

// Kernel replay keeps a copy of the memory that kernels may write; on the host, if the device has
// no room.
bool CountingSession::fits_kernel_replay() const {
  for (const CUcontext context : launches_.contexts()) {
    const Current current(api_, context);
    size_t free_bytes = 0, total_bytes = 0;
    if (api_.cuMemGetInfo(&free_bytes, &total_bytes) != CUDA_SUCCESS) continue;
    if (free_bytes < total_bytes - free_bytes) return false;
  }
  return true;
}

void CountingSession::say_what_it_takes() {
  const std::string passes = std::to_string(chip_->passes());
  const std::string what = "counters: " + std::to_string(plan_.counters.size()) + " from " +
                           std::to_string(plan_.metrics.size()) + " metrics of " + chip_->name();
  if (replay_ == Replay::kKernel) {
    note_(what + ": " + passes +
          " passes over each kernel of an inference (kernel replay), 10 to 20 ms each");
  } else {
    note_(what + ": " + passes +
          " inferences, a pass in each (application replay), 2 to 4 ms for each kernel");
  }
}

void CountingSession::say_once(const std::string& text) {
  if (std::find(said_.begin(), said_.end(), text) != said_.end()) return;
  said_.push_back(text);
  note_(text);
}

void CountingSession::give_up(const std::string& why) {
  has_failed_ = true;
  say_once(why);
  for (auto& [context, device] : devices_) {
    const Current current(api_, context);
    device.ranges.reset();
  }
  devices_.clear();
}

bool CountingSession::start_context(CUcontext context, size_t capacity, std::string* why) {
  const Current current(api_, context);
  Device& device = devices_[context];
  if (device.ranges == nullptr) {
    device.ranges = Ranges::open(api_, *chip_, context, config_, plan_.metrics, why);
    if (device.ranges == nullptr) return false;
  }
  // All passes of one count must have the same room.
  if (capacity > device.capacity && passes_.empty()) {
    if (!device.ranges->prepare(replay_, scope_, capacity, why)) return false;
    device.capacity = capacity;
  }
  if (!device.ranges->start(why)) return false;
  device.is_running = true;
  return true;
}

uint64_t CountingSession::graphs_among(const std::vector<Launch>& launches) const {
  return static_cast<uint64_t>(
      std::count_if(launches.begin(), launches.end(),
                    [&](const Launch& launch) { return launches_.key(launch.kernel).is_graph(); }));
}

void CountingSession::count_whole() {
  if (scope_ == Scope::kWhole) return;
  if (replay_ == Replay::kKernel || !devices_.empty()) {
    give_up(kGraphs);
    return;
  }
  scope_ = Scope::kWhole;
  std::vector<std::string> without;
  for (const CounterPlan::Counter& counter : plan_.counters) {
    if (needs_instrumented_code(plan_, counter)) without.push_back(counter.name);
  }
  note_(
      "counters: the model launches a CUDA graph, whose kernels cannot be counted one by one: the "
      "counters are those of whole inferences, on the span of the model" +
      (without.empty() ? "" : ", without " + joined(without)) +
      ": for every kernel's, profile it without --cuda-graph; XLA makes no graphs with "
      "XLA_FLAGS=--xla_gpu_enable_command_buffer=");
}

void CountingSession::begin() {
  (void)runs_needed();
  const std::vector<Launch> before = launches_.take();
  launches_max_ = std::max(launches_max_, launches_of_inference(before));
  if (!has_failed_ && graphs_among(before) != 0) count_whole();
  is_counting_ = !has_failed_ && (!options_.reuse || known_.empty());
  if (!is_counting_) return;
  const size_t capacity = std::clamp(launches_max_, kRangesMin, kRangesMax);
  std::string why;
  for (const CUcontext context : launches_.contexts()) {
    if (start_context(context, capacity, &why)) continue;
    give_up(why);
    is_counting_ = false;
    return;
  }
}

bool CountingSession::stop_contexts(std::string* why) {
  bool is_fine = true;
  for (auto& [context, device] : devices_) {
    if (!device.is_running) continue;
    const Current current(api_, context);
    (void)api_.cuCtxSynchronize();
    device.is_running = false;
    is_fine = device.ranges->stop(why) && is_fine;
  }
  return is_fine;
}

bool CountingSession::is_complete() const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](const auto& entry) { return entry.second.ranges->is_complete(); });
}

void CountingSession::end(xsp_span* model) {
  std::string why;
  if (is_counting_ && !stop_contexts(&why)) give_up(why);
  passes_.push_back(launches_.take());
  launches_max_ = std::max(launches_max_, passes_.back().size());
  // Graphs do not run while kernels are counted one by one, so the results would be wrong.
  const bool has_graphs = graphs_among(passes_.back()) != 0;
  if (!has_failed_ && has_graphs && scope_ == Scope::kEachKernel) give_up(kGraphs);
  if (has_failed_) {
    emit_uncounted("counting failed");
  } else if (!is_counting_) {
    emit_reused();
  } else if (is_complete() && scope_ == Scope::kWhole) {
    emit_whole(model);
  } else if (is_complete()) {
    emit_counted();
  }
  is_counting_ = false;
}

bool CountingSession::read_context(CUcontext context, const Device& device, std::string* why) {
  // The context's launches, in each pass.
  std::vector<std::vector<const Launch*>> launches(passes_.size());
  std::vector<std::vector<uint32_t>> kernels(passes_.size());
  for (size_t pass = 0; pass < passes_.size(); ++pass) {
    for (const Launch& launch : passes_[pass]) {
      if (launch.context != context) continue;
      launches[pass].push_back(&launch);
      kernels[pass].push_back(launch.kernel);
    }
  }
  std::vector<std::vector<double>> ranges;
  if (!device.ranges->read(&ranges, why)) return false;
  const Matched matched = match(kernels, ranges.size(), device.capacity);
  if (!matched.problem.empty()) {
    say_once(matched.problem);
    xsp_count_loss(kLossSource, matched.cause, kernels.front().size() - matched.usable);
  }
  for (size_t i = 0; i < matched.usable; ++i) {
    if (ranges[i].empty()) continue;
    auto result = std::make_unique<Known>();
    result->values = evaluate(plan_, ranges[i]);
    if (duration_metric_ < ranges[i].size()) {
      result->duration_ns = ranges[i][duration_metric_];
    }
    for (const auto& of_pass : launches) counted_[of_pass[i]] = result.get();
    if (options_.reuse) known_.try_emplace(kernels.front()[i], *result);
    results_.push_back(std::move(result));
  }
  return true;
}

void CountingSession::emit_counted() {
  std::string why;
  for (const auto& [context, device] : devices_) {
    const Current current(api_, context);
    if (!read_context(context, device, &why)) break;
  }
  if (!why.empty()) give_up(why);
  for (const std::vector<Launch>& pass : passes_) {
    std::vector<Counted> counted;
    for (const Launch& launch : pass) {
      const auto found = counted_.find(&launch);
      if (found == counted_.end()) {
        counted.push_back({});
      } else {
        counted.push_back({&found->second->values, found->second->duration_ns, false});
      }
    }
    emitter_->emit(launches_, pass, counted);
  }
  passes_.clear();
  counted_.clear();
  results_.clear();
}

void CountingSession::emit_whole(xsp_span* model) {
  std::string why;
  for (const auto& [context, device] : devices_) {
    const Current current(api_, context);
    std::vector<std::vector<double>> ranges;
    if (!device.ranges->read(&ranges, &why)) break;
    if (ranges.empty() || ranges.front().empty() || model == nullptr) continue;
    const std::vector<double> values = evaluate(plan_, ranges.front());
    for (size_t i = 0; i < values.size(); ++i) {
      const CounterPlan::Counter& counter = plan_.counters[i];
      if (std::isnan(values[i]) || needs_instrumented_code(plan_, counter)) continue;
      xsp_span_counter(model, xsp_intern_key(counter.name.c_str()), values[i]);
    }
  }
  if (!why.empty()) give_up(why);
  uint64_t graphs = 0;
  for (const std::vector<Launch>& pass : passes_) {
    graphs += graphs_among(pass);
    emitter_->emit(launches_, pass, std::vector<Counted>(pass.size()));
  }
  xsp_count_loss(kLossSource, kGraphCause, graphs);
  passes_.clear();
}

void CountingSession::emit_reused() {
  uint64_t missing = 0;
  const std::vector<Launch> pass = std::move(passes_.back());
  passes_.clear();
  std::vector<Counted> counted;
  for (const Launch& launch : pass) {
    const auto known = known_.find(launch.kernel);
    if (known == known_.end()) {
      ++missing;
      counted.push_back({});
    } else {
      counted.push_back({&known->second.values, known->second.duration_ns, true});
    }
  }
  emitter_->emit(launches_, pass, counted);
  say_once(
      "counters: reused: inferences after the first count have the counters of its kernels "
      "of the same name, grid, block and shared memory");
  if (missing != 0) {
    xsp_count_loss(kLossSource, "no counters to reuse for a new kernel", missing);
    known_.clear();  // the next inference is counted
  }
}

void CountingSession::emit_uncounted(const char* cause) {
  uint64_t launches = 0;
  for (const std::vector<Launch>& pass : passes_) {
    emitter_->emit(launches_, pass, std::vector<Counted>(pass.size()));
    launches += pass.size();
  }
  if (launches != 0) xsp_count_loss(kLossSource, cause, launches);
  passes_.clear();
}

void CountingSession::finish() {
  if (!passes_.empty()) {
    say_once("counters: the run ended after " + std::to_string(passes_.size()) + " of " +
             std::to_string(chip_->passes()) +
             " passes: these inferences have none: give it more time (--max-time)");
    emit_uncounted("the run ended before the last pass");
  }
  const std::vector<CUcontext> alive = launches_.contexts();
  for (auto& [context, device] : devices_) {
    // A profiler is gone with its context.
    if (std::find(alive.begin(), alive.end(), context) == alive.end()) {
      (void)device.ranges.release();
    } else {
      const Current current(api_, context);
      device.ranges.reset();
    }
  }
  devices_.clear();
  launches_.unsubscribe();
}

}  // namespace xsp::cupti
