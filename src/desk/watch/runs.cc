#include "desk/watch/runs.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "desk/correlate/steps.h"
#include "desk/experiment/plan.h"
#include "desk/statistics/steady.h"
#include "desk/statistics/typical.h"
#include "shared/base/levels.h"
#include "shared/trace/reader.h"
#include "xsp/xsp.h"

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kApplication = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
constexpr uint32_t kAlways =
    kApplication | XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER);
// The first steps count as warm-up if their mean is so many times that of the following ones.
constexpr double kSlower = 1.1;
// A first step that takes so many times the median of the later steps is warm-up.
constexpr double kMuchSlower = 1.5;

// The part of a trace in which one set of levels was recorded.
struct Window {
  correlate::TimeWindow time;
  uint32_t levels = 0;
  uint32_t round = 0;  // counts from 1 where sets take turns, else 0
};

struct Trace {
  fs::path path;
  std::vector<Window> windows;
  correlate::TraceSteps found;
  int64_t last_ns = 0;
  std::shared_ptr<const correlate::CallNumbers> numbers;
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <typename T>
bool is_in(const T& one, const correlate::TimeWindow& window) {
  return window.start_ns <= one.start_ns && one.start_ns < window.end_ns;
}

std::vector<Window> windows_of(const std::vector<trace::LevelsFrom>& marks, uint32_t levels) {
  if (marks.empty()) return {{{}, levels, 0}};
  std::vector<Window> windows;
  for (const trace::LevelsFrom& mark : marks) {
    if (!windows.empty()) windows.back().time.end_ns = mark.start_ns;
    windows.push_back({{mark.start_ns, INT64_MAX}, mark.levels | kApplication, mark.round});
  }
  windows[0].time.start_ns = INT64_MIN;
  return windows;
}

// Gives windows without records and without steps to the run of all levels, because no run can be
// made of them.
void join_empty_windows(uint32_t levels, Trace* trace) {
  for (Window& window : trace->windows) {
    if (window.levels != kApplication || window.round != 0) continue;
    const auto inside = [&window](const correlate::Step& step) { return is_in(step, window.time); };
    const auto& steps = trace->found.steps;
    if (std::none_of(steps.begin(), steps.end(), inside)) window.levels = levels;
  }
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

// Returns the start of the steady state of the steps that were recorded with one set of levels.
int64_t steady_from_ns(const std::vector<correlate::Step>& steps) {
  std::vector<double> durations_ns;
  for (const correlate::Step& step : steps) {
    durations_ns.push_back(static_cast<double>(step.end_ns - step.start_ns));
  }
  const size_t warm = warmup_steps(durations_ns);
  return warm < steps.size() && warm > 0 ? steps[warm].start_ns : INT64_MIN;
}

// The part of a trace that belongs to a run, and the number of warm-up iterations in it.
struct Part {
  store::RunTrace trace;
  int warmup = 0;
};

// Returns when the first turn of this set began, after the warm-up. Returns nothing if the sets
// took no turns.
std::optional<int64_t> first_turn_ns(const Trace& trace, uint32_t levels) {
  for (const Window& window : trace.windows) {
    if (window.levels == levels && window.round > 0) return window.time.start_ns;
  }
  return std::nullopt;
}

Part part_of(const Trace& trace, uint32_t levels, bool is_whole) {
  Part part;
  part.trace.path = trace.path;
  part.trace.calls = trace.numbers;
  std::vector<correlate::TimeWindow> windows;
  for (const Window& window : trace.windows) {
    if (window.levels == levels) windows.push_back(window.time);
  }
  const auto calls = those_in(trace.found.calls, windows);
  const std::optional<int64_t> turn_ns = first_turn_ns(trace, levels);
  const int64_t steady_ns =
      turn_ns ? *turn_ns : steady_from_ns(those_in(trace.found.steps, windows));
  const auto first = std::find_if(calls.begin(), calls.end(), [steady_ns](const auto& call) {
    return call.start_ns >= steady_ns;
  });
  part.warmup = static_cast<int>(first - calls.begin());
  // Iterations keep their distances to each other; the first steady one becomes 0.
  if (first != calls.end() && first != calls.begin()) {
    part.trace.warmup_iterations = static_cast<int>(first->iteration);
  }
  if (!is_whole) {
    part.trace.windows = std::move(windows);
    part.trace.levels = levels;
  }
  return part;
}

// Returns the turns of this set in the trace as blocks. The rounds follow each other from the
// first.
std::vector<store::BlockInfo> blocks_of(const Trace& trace, const store::RunTrace& part,
                                        uint32_t levels, int warmup) {
  std::vector<store::BlockInfo> blocks;
  for (const Window& window : trace.windows) {
    if (window.levels != levels || window.round == 0) continue;
    const auto calls = those_in(trace.found.calls, {window.time});
    store::BlockInfo block;
    const int first = calls.empty() ? 0 : static_cast<int>(calls[0].iteration);
    // The run's own warm-up is subtracted again when the block is written.
    block.first_iteration = first - part.warmup_iterations + warmup;
    block.iterations = static_cast<int>(calls.size());
    block.start_ns = window.time.start_ns;
    const int64_t end_ns = std::min(window.time.end_ns, trace.last_ns);
    block.duration_ns = std::max<int64_t>(0, end_ns - window.time.start_ns);
    blocks.push_back(block);
  }
  return blocks;
}

RecordedRun run_of(const std::vector<Trace>& traces, uint32_t levels, bool is_whole) {
  RecordedRun run;
  run.info.levels = levels_text(levels);
  run.info.stopped_by = "end";
  const Trace* longest = nullptr;
  size_t longest_part = 0;
  for (const Trace& trace : traces) {
    const bool has_any = std::any_of(trace.windows.begin(), trace.windows.end(),
                                     [levels](const Window& one) { return one.levels == levels; });
    if (!has_any) continue;
    Part part = part_of(trace, levels, is_whole);
    run.info.warmup_iterations = std::max(run.info.warmup_iterations, part.warmup);
    if (longest == nullptr || trace.found.steps.size() > longest->found.steps.size()) {
      longest = &trace;
      longest_part = run.traces.size();
    }
    run.traces.push_back(std::move(part.trace));
  }
  if (longest != nullptr) {
    run.info.blocks =
        blocks_of(*longest, run.traces[longest_part], levels, run.info.warmup_iterations);
  }
  return run;
}

}  // namespace

size_t warmup_steps(std::span<const double> durations_ns) {
  const size_t count = durations_ns.size();
  if (count < 3) return 0;
  const size_t half = count / 2;
  const double usual = statistics::median(durations_ns.subspan(half));
  const auto is_much_slower = [usual](double one_ns) { return one_ns > kMuchSlower * usual; };
  size_t slow = 0;
  while (slow < half && is_much_slower(durations_ns[slow])) ++slow;
  const size_t cut = statistics::steady_from(durations_ns).value_or(0);
  if (cut <= slow) return slow;
  // The cut is exact only to a group of steps. So the warm-up ends at the last slow step before the
  // cut, unless the steps between that one and the cut are also slower than the rest.
  const double steady = statistics::estimate(durations_ns.subspan(cut), {}).mean;
  for (size_t last = cut; last > slow; --last) {
    if (!is_much_slower(durations_ns[last - 1])) continue;
    slow = last;
    break;
  }
  if (slow == cut) return cut;
  return mean(durations_ns.subspan(slow, cut - slow)) > kSlower * steady ? cut : slow;
}

Result<std::vector<RecordedRun>> runs_of_traces(const std::vector<fs::path>& paths, uint32_t levels,
                                                int first_run_id) {
  std::vector<Trace> traces;
  uint32_t seen = 0;
  for (const fs::path& path : paths) {
    XSP_TRY(const trace::Reader reader, trace::Reader::open(path));
    Trace trace = {path, windows_of(reader.levels(), levels), correlate::find_steps(reader),
                   reader.last_ns(), nullptr};
    trace.numbers = std::make_shared<const correlate::CallNumbers>(trace.found.calls);
    seen |= trace.found.levels;
    join_empty_windows(levels, &trace);
    traces.push_back(std::move(trace));
  }
  // Sets that differ only in levels without any span count as one set.
  std::set<uint32_t> sets;  // deeper ones have higher bits
  for (Trace& trace : traces) {
    for (Window& window : trace.windows) {
      if (window.levels > kAlways) window.levels &= kAlways | seen;
      sets.insert(window.levels);
    }
  }
  std::vector<RecordedRun> runs;
  std::set<fs::path> counted;
  for (const uint32_t set : sets) {
    RecordedRun run = run_of(traces, set, sets.size() == 1);
    // The levels without spans are removed later: see AttachedCollectors.
    if (sets.size() == 1) run.info.levels = levels_text(levels);
    run.info.run_id = first_run_id + static_cast<int>(runs.size());
    for (store::RunTrace& trace : run.traces) {
      trace.has_losses = counted.insert(trace.path).second;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

Status complete_steps(store::Database& database) {
  // Counts the steps of the strongest kind that the run has.
  return database.execute(
      "UPDATE run SET iterations = coalesce((SELECT steps FROM (SELECT run_id, arg_max(steps, "
      "    strength) AS steps FROM (SELECT s.run_id, list_position(['model', 'optimizer', 'mark'], "
      "      a.value) AS strength, count(*) AS steps FROM span s JOIN site_attribute a "
      "      USING (run_id, site_id) WHERE s.level = 1 AND s.type = 'step' AND a.key = 'step_of' "
      "      GROUP BY ALL) GROUP BY run_id) found WHERE found.run_id = run.run_id), 0) "
      "WHERE levels = 'application'");
}

Result<std::string> note_of_turns(store::Database& database) {
  XSP_TRY(const store::Table table,
          database.query("SELECT (SELECT count(*) FROM span WHERE level = 2), "
                         "  (SELECT count(*) FROM span WHERE level > 2), "
                         "  (SELECT count(DISTINCT run_id) FROM block)"));
  const auto number = [&table](size_t column) {
    const auto* value = std::get_if<int64_t>(&table.rows[0][column]);
    return value == nullptr ? 0 : *value;
  };
  // Without a model span, there is no level that a deeper one could slow; without a span below the
  // model, no level slows it.
  if (number(0) == 0 || number(1) == 0 || number(2) >= 2) return std::string();
  return std::string(
      "too few steps for levels to take turns: all were recorded at once, and the deep ones slow "
      "those above: let it run for more steps, or use --leveled=runs");
}

Result<std::string> note_of_part(store::Database& database, const Schedule& schedule,
                                 uint32_t levels) {
  const bool is_asked = schedule.first_step > 0 || schedule.delay_s > 0;
  if (!is_asked || (levels & ~kApplication) == 0) return std::string();
  // A process may have one span of a step more than steps: a call of the model before its first
  // mark.
  XSP_TRY(
      const store::Table table,
      database.query("SELECT (SELECT count(*) FROM span WHERE level > 1), "
                     "  (SELECT max(duration_ns) FROM span WHERE level = 1 AND type = 'process'), "
                     "  least((SELECT max(iterations) FROM run), (SELECT max(steps) FROM "
                     "    (SELECT count(*) AS steps FROM span WHERE level = 1 AND type = 'step' "
                     "     GROUP BY process)))"));
  const auto number = [&table](size_t column) {
    const auto* value = std::get_if<int64_t>(&table.rows[0][column]);
    return value == nullptr ? 0 : *value;
  };
  if (number(0) > 0) return std::string();
  const int64_t steps = number(2);
  if (schedule.first_step > 0 && steps <= schedule.first_step) {
    const std::string after = steps == 0   ? "without a step"
                              : steps == 1 ? "after 1 step"
                                           : "after " + std::to_string(steps) + " steps";
    return "the program ended " + after + ", before step " + std::to_string(schedule.first_step) +
           " (--steps), so this part was not recorded: let it run for longer, or record "
           "earlier steps";
  }
  if (static_cast<double>(number(1)) < schedule.delay_s * 1e9) {
    char delay[32];
    std::snprintf(delay, sizeof delay, "%.6g s", schedule.delay_s);
    return std::string("the program ended before the delay of ") + delay +
           " was over (--delay), so this part was not recorded: let it run for longer, or "
           "record it earlier";
  }
  return std::string();
}

}  // namespace xsp::watch
