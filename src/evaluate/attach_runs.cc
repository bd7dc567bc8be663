#include "evaluate/attach_runs.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "correlate/steps.h"
#include "evaluate/plan.h"
#include "evaluate/statistics.h"
#include "trace/reader.h"
#include "xsp/xsp.h"

namespace xsp::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kApplication = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
// A beginning counts as warm-up if its mean is so much above what follows.
constexpr double kSlower = 1.1;
// A first step that takes so much longer than the later ones' median is none of them.
constexpr double kMuchSlower = 1.5;

// Part of a trace in which one set of levels was recorded.
struct Window {
  correlate::TimeWindow time;
  uint32_t levels = 0;
};

struct Trace {
  fs::path path;
  std::vector<Window> windows;
  correlate::TraceSteps found;
  int64_t steady_ns = INT64_MIN;  // of interleaved sets: when the first round was over
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <typename T>
bool is_in(const T& one, const correlate::TimeWindow& window) {
  return window.start_ns <= one.start_ns && one.start_ns < window.end_ns;
}

std::vector<Window> windows_of(const std::vector<trace::LevelsFrom>& marks, uint32_t levels) {
  if (marks.empty()) return {{{}, levels}};
  std::vector<Window> windows;
  for (const trace::LevelsFrom& mark : marks) {
    if (!windows.empty()) windows.back().time.end_ns = mark.start_ns;
    windows.push_back({{mark.start_ns, INT64_MAX}, (mark.levels & levels) | kApplication});
  }
  windows[0].time.start_ns = INT64_MIN;
  return windows;
}

// Where nothing was recorded and no step is known either, there is nothing to make a run of.
void join_empty_windows(const correlate::TraceSteps& found, uint32_t levels,
                        std::vector<Window>* windows) {
  for (Window& window : *windows) {
    if (window.levels != kApplication) continue;
    const auto inside = [&window](const correlate::Step& step) { return is_in(step, window.time); };
    if (std::none_of(found.steps.begin(), found.steps.end(), inside)) window.levels = levels;
  }
}

// Sets take turns once the first window, of the process's start, and the warm-up are over; in the
// first round every set is new to the process.
constexpr size_t kFirstBlock = 2;

int64_t steady_of_blocks(const std::vector<Window>& windows, size_t sets) {
  const size_t first = kFirstBlock + sets;
  if (windows.size() > first) return windows[first].time.start_ns;
  return windows.size() > kFirstBlock ? windows[kFirstBlock].time.start_ns : INT64_MIN;
}

template <typename T>
std::vector<T> those_in(const std::vector<T>& all,
                        const std::vector<correlate::TimeWindow>& windows) {
  std::vector<T> some;
  size_t at = 0;
  for (const T& one : all) {
    while (at < windows.size() && windows[at].end_ns <= one.start_ns) ++at;
    if (at < windows.size() && is_in(one, windows[at])) some.push_back(one);
  }
  return some;
}

// When the steady state begins, of the steps recorded with one set of levels.
int64_t steady_from_ns(const std::vector<correlate::Step>& steps) {
  std::vector<double> durations_ns;
  for (const correlate::Step& step : steps) {
    durations_ns.push_back(static_cast<double>(step.end_ns - step.start_ns));
  }
  const size_t warm = warmup_steps(durations_ns);
  return warm < steps.size() && warm > 0 ? steps[warm].start_ns : INT64_MIN;
}

// The part of a trace that belongs to a run, and the warm-up iterations in it.
struct Part {
  store::RunTrace trace;
  int warmup = 0;
};

Part part_of(const Trace& trace, uint32_t levels, bool is_whole) {
  Part part;
  part.trace.path = trace.path;
  std::vector<correlate::TimeWindow> windows;
  for (const Window& window : trace.windows) {
    if (window.levels == levels) windows.push_back(window.time);
  }
  const auto calls = those_in(trace.found.calls, windows);
  int64_t steady_ns = trace.steady_ns;
  if (steady_ns == INT64_MIN) steady_ns = steady_from_ns(those_in(trace.found.steps, windows));
  const auto first = std::find_if(calls.begin(), calls.end(), [steady_ns](const auto& call) {
    return call.start_ns >= steady_ns;
  });
  part.warmup = static_cast<int>(first - calls.begin());
  // Iterations keep their distances; the first steady one is 0.
  if (first != calls.end() && first != calls.begin()) {
    part.trace.warmup_iterations = static_cast<int>(first->iteration);
  }
  if (!is_whole) {
    part.trace.windows = std::move(windows);
    part.trace.levels = levels;
  }
  return part;
}

// The blocks of the trace with the most steps.
std::vector<store::BlockInfo> blocks_of(const Trace& trace, const store::RunTrace& part,
                                        uint32_t levels, int warmup, size_t sets) {
  std::vector<store::BlockInfo> blocks;
  for (size_t i = kFirstBlock + sets; i + 1 < trace.windows.size(); ++i) {
    const Window& window = trace.windows[i];
    if (window.levels != levels) continue;
    const auto calls = those_in(trace.found.calls, {window.time});
    store::BlockInfo block;
    const int first = calls.empty() ? 0 : static_cast<int>(calls[0].iteration);
    // The run's own warm-up is taken off again when it is written.
    block.first_iteration = first - part.warmup_iterations + warmup;
    block.iterations = static_cast<int>(calls.size());
    block.start_ns = window.time.start_ns;
    block.duration_ns = window.time.end_ns - window.time.start_ns;
    blocks.push_back(block);
  }
  return blocks;
}

RecordedRun run_of(const std::vector<Trace>& traces, uint32_t levels, size_t sets, bool is_whole) {
  RecordedRun run;
  run.info.levels = levels_text(levels);
  run.info.stopped_by = "end";
  const Trace* longest = nullptr;
  for (const Trace& trace : traces) {
    const bool has_any = std::any_of(trace.windows.begin(), trace.windows.end(),
                                     [levels](const Window& one) { return one.levels == levels; });
    if (!has_any) continue;
    Part part = part_of(trace, levels, is_whole);
    run.info.warmup_iterations = std::max(run.info.warmup_iterations, part.warmup);
    run.traces.push_back(std::move(part.trace));
    if (longest == nullptr || trace.found.steps.size() > longest->found.steps.size()) {
      longest = &trace;
    }
  }
  if (sets >= 2 && longest != nullptr) {
    const auto part = std::find_if(run.traces.begin(), run.traces.end(),
                                   [&](const auto& one) { return one.path == longest->path; });
    run.info.blocks = blocks_of(*longest, *part, levels, run.info.warmup_iterations, sets);
  }
  return run;
}

}  // namespace

size_t warmup_steps(std::span<const double> durations_ns) {
  const size_t count = durations_ns.size();
  if (count < 3) return 0;
  const size_t half = count / 2;
  const double usual = median(durations_ns.subspan(half));
  const auto is_much_slower = [usual](double one_ns) { return one_ns > kMuchSlower * usual; };
  size_t slow = 0;
  while (slow < half && is_much_slower(durations_ns[slow])) ++slow;
  const size_t cut = steady_from(durations_ns).value_or(0);
  if (cut <= slow) return slow;
  // The cut is found in groups of steps: up to the last slow one, unless what follows that, up to
  // the cut, is slower than the rest, too.
  const double steady = trimmed_mean(durations_ns.subspan(cut));
  for (size_t last = cut; last > slow; --last) {
    if (!is_much_slower(durations_ns[last - 1])) continue;
    slow = last;
    break;
  }
  if (slow == cut) return cut;
  return mean(durations_ns.subspan(slow, cut - slow)) > kSlower * steady ? cut : slow;
}

Result<std::vector<RecordedRun>> runs_of_traces(const std::vector<fs::path>& paths, uint32_t levels,
                                                const std::vector<uint32_t>& sets,
                                                int first_run_id) {
  std::vector<Trace> traces;
  std::map<uint32_t, bool> found;  // sets of levels; deeper ones have higher bits
  for (const fs::path& path : paths) {
    XSP_TRY(const trace::Reader reader, trace::Reader::open(path));
    Trace trace;
    trace.path = path;
    trace.windows = windows_of(reader.levels(), levels);
    trace.found = correlate::find_steps(reader);
    join_empty_windows(trace.found, levels, &trace.windows);
    if (sets.size() >= 2) trace.steady_ns = steady_of_blocks(trace.windows, sets.size());
    for (const Window& window : trace.windows) found[window.levels] = true;
    traces.push_back(std::move(trace));
  }
  std::vector<RecordedRun> runs;
  for (const auto& [set, is_there] : found) {
    RecordedRun run = run_of(traces, set, sets.size(), found.size() == 1);
    run.info.run_id = first_run_id + static_cast<int>(runs.size());
    for (store::RunTrace& trace : run.traces) {
      const bool is_first = std::none_of(runs.begin(), runs.end(), [&](const RecordedRun& other) {
        return std::any_of(other.traces.begin(), other.traces.end(),
                           [&](const store::RunTrace& one) { return one.path == trace.path; });
      });
      trace.has_losses = is_first;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace xsp::evaluate
