#include "desk/cli/sweep_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "desk/catalogue/drift.h"
#include "desk/cli/messages.h"
#include "desk/cli/output.h"
#include "desk/cli/progress.h"
#include "desk/experiment/record.h"
#include "desk/site/site.h"
#include "shared/base/duration_text.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;
using catalogue::Catalogue;
using store::Value;
using sweep::State;
using sweep::TaskView;
using sweep::View;

// Writes "1:02:03" or "2:03".
std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  char text[64];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60), static_cast<long long>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  }
  return text;
}

std::string counts_text(const View& view) {
  std::string text = std::to_string(view.count(State::kDone)) + " of " +
                     std::to_string(view.tasks.size()) + " done";
  for (const State state : {State::kRunning, State::kWaiting, State::kFailed, State::kLeft}) {
    const size_t count = view.count(state);
    if (count > 0) text += ", " + std::to_string(count) + " " + text_of(state);
  }
  return text;
}

// Says how steady a machine was.
std::string drift_text(const catalogue::Drift& drift) {
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f %%", 100 * drift.spread());
  std::string text = "drift of " + drift.system + ", " + drift.device + ": the reference (" +
                     drift.what + ") took " + duration_text(drift.references.front().latency_ns) +
                     " at first and " + duration_text(drift.references.back().latency_ns) +
                     " at last; " + std::to_string(drift.references.size()) +
                     " of them differ by at most " + percent;
  if (drift.spread() > catalogue::kDriftMax) {
    text += ": differences of that size between models may be the machine's";
  }
  return text;
}

// Returns what is left, by the mean of what is done; negative: nothing is done yet.
double left_s(const View& view, double elapsed_s, size_t done_before) {
  const size_t done = view.count(State::kDone) - done_before;
  const size_t left =
      view.count(State::kPending) + view.count(State::kWaiting) + view.count(State::kRunning);
  return done == 0 ? -1 : elapsed_s / static_cast<double>(done) * static_cast<double>(left);
}

// A catalogue is told of a change after this time, and after a hundred times the time that it took
// the last time.
constexpr std::chrono::seconds kNotesApart{5};
constexpr int kNotesShare = 100;
constexpr const char* kOpen = "open";  // the state of a sweep that has not ended

std::vector<State> states_of(const View& view) {
  std::vector<State> states;
  for (const TaskView& task : view.tasks) states.push_back(task.state);
  return states;
}

Status note_tasks(Catalogue& catalogue, const sweep::Plan& plan, const View& view,
                  const std::string& state) {
  std::vector<catalogue::Task> tasks;
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    const TaskView& task = view.tasks[i];
    tasks.push_back({plan.tasks[i].name, plan.tasks[i].subject(), text_of(task.state),
                     task.attempts, plan.tasks[i].subject(), task.seconds, task.where, task.why});
  }
  return catalogue.note_sweep({plan.id, plan.name, plan.source, state, experiment::utc_now()},
                              tasks);
}

std::vector<Value> cells_of(const sweep::Task& task) {
  return {task.name, task.framework.empty() ? "by the model" : task.framework,
          task.device.empty() ? "the best" : task.device,
          task.batch > 0 ? Value(task.batch) : Value(), task.scenario};
}

}  // namespace

Status print_plan(const sweep::Plan& plan, const std::string& place) {
  std::map<std::string, double> known;
  if (!place.empty()) {
    XSP_TRY(Catalogue catalogue, Catalogue::open_for_reading(place));
    std::vector<std::string> subjects;
    for (const sweep::Task& task : plan.tasks) subjects.push_back(task.subject());
    XSP_TRY(known, catalogue.seconds_of(subjects));
  }
  store::Table table;
  table.columns = {{"task", "VARCHAR"},      {"framework", "VARCHAR"}, {"device", "VARCHAR"},
                   {"batch", "BIGINT"},      {"scenario", "VARCHAR"},  {"system", "VARCHAR"},
                   {"expected_ns", "DOUBLE"}};
  double sum = 0;
  size_t unknown = 0;
  for (const sweep::Task& task : plan.tasks) {
    std::vector<Value> row = cells_of(task);
    row.push_back(task.system.empty() ? Value("any") : Value(task.system));
    const auto found = known.find(task.subject());
    row.push_back(found == known.end() ? Value() : Value(found->second * 1e9));
    if (found == known.end()) {
      ++unknown;
    } else {
      sum += found->second;
    }
    table.rows.push_back(std::move(row));
  }
  OutputOptions all;
  all.all = true;
  XSP_CHECK_OK(write_stdout(render(sheet_of(std::move(table)), all, terminal_of(1))));
  for (const sweep::LeftOut& one : plan.left_out) {
    XSP_CHECK_OK(write_stdout("left out: " + one.what + ": " + one.why + "\n"));
  }
  std::string text = counted(plan.tasks.size(), "task");
  if (unknown < plan.tasks.size()) text += ", " + clock_text(sum) + " on one machine";
  if (unknown < plan.tasks.size() && plan.price > 0) {
    char cost[64];
    std::snprintf(cost, sizeof cost, ", a cost of %.2f", sum / 3600 * plan.price);
    text += cost;
  }
  if (unknown > 0) {
    text += ": the time of " + std::to_string(unknown) + " is not known, because " +
            (place.empty() ? std::string("no catalogue is named with --db")
                           : "the catalogue has no equal task");
  }
  return write_stdout(text + "\n");
}

std::string status_text(const sweep::Plan& plan, const View& view, const Terminal& terminal) {
  std::string text = plan.name + " by " + plan.executor + ": " + counts_text(view) + "\n";
  for (size_t i = 0; i < view.tasks.size(); ++i) {
    const TaskView& task = view.tasks[i];
    if (task.state != State::kRunning && task.state != State::kFailed) continue;
    std::string line = "  " + std::string(text_of(task.state)) + "  " + plan.tasks[i].name;
    if (!task.where.empty()) line += " on " + task.where;
    if (task.state == State::kRunning) {
      line += ", for " + clock_text(sweep::now_s() - task.started_at);
    }
    if (task.attempts > 1) line += ", attempt " + std::to_string(task.attempts);
    if (!task.why.empty()) line += ": " + task.why;
    text += wrapped(line, terminal.width, 4);
  }
  return text;
}

SweepProgress::SweepProgress(const sweep::Plan& plan, bool is_quiet)
    : plan_(plan),
      is_quiet_(is_quiet),
      is_terminal_(terminal_of(2).is_terminal),
      began_at_(sweep::now_s()) {}

SweepProgress::~SweepProgress() {
  if (is_terminal_ && !is_quiet_) std::fprintf(stderr, "\r\033[K");
}

void SweepProgress::show_settled(const View& view) {
  for (size_t i = 0; i < view.tasks.size(); ++i) {
    const TaskView& task = view.tasks[i];
    const bool is_again = i < last_.tasks.size() && last_.tasks[i].state == task.state &&
                          last_.tasks[i].attempts == task.attempts;
    const bool is_retry = task.attempts > 0 && !task.why.empty() &&
                          (task.state == State::kPending || task.state == State::kWaiting) &&
                          last_.tasks.size() > i && last_.tasks[i].attempts < task.attempts;
    if (is_again || (task.state != State::kDone && task.state != State::kFailed && !is_retry)) {
      continue;
    }
    if (last_.tasks.empty() && task.state == State::kDone) continue;  // by an earlier session
    std::string line = is_retry ? "again" : text_of(task.state);
    line += ": " + plan_.tasks[i].name;
    if (!task.where.empty()) line += " on " + task.where;
    if (!task.why.empty()) line += ": " + task.why;
    if (is_terminal_) std::fprintf(stderr, "\r\033[K");
    if (task.state != State::kDone || !is_terminal_) std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void SweepProgress::show(const View& view) {
  if (is_quiet_) return;
  show_settled(view);
  if (view.silence.empty() != last_.silence.empty()) {
    if (is_terminal_) std::fprintf(stderr, "\r\033[K");
    const std::string now = view.silence.empty()
                                ? "the engine works again"
                                : "the engine fails, and is asked again: " + view.silence;
    std::fprintf(stderr, "%s\n", now.c_str());
  }
  const size_t done_before = last_.tasks.empty() ? view.count(State::kDone) : 0;
  if (is_terminal_) {
    std::string line = counts_text(view);
    const double left = left_s(view, sweep::now_s() - began_at_, done_before);
    if (left > 0) line += ", some " + clock_text(left) + " left";
    for (size_t i = 0; i < view.tasks.size(); ++i) {
      if (view.tasks[i].state == State::kRunning) line += "; " + plan_.tasks[i].name;
    }
    const Terminal terminal = terminal_of(2);
    std::fprintf(stderr, "\r\033[K%s", shortened(terminal, line, terminal.width - 1).c_str());
  }
  last_ = view;
}

Status SweepNotes::begin(const View& view) {
  XSP_TRY(Catalogue catalogue, Catalogue::open(place_));
  noted_ = states_of(view);
  next_ = Clock::now() + kNotesApart;
  return note_tasks(catalogue, plan_, view, kOpen);
}

void SweepNotes::show(const View& view) {
  const Clock::time_point start = Clock::now();
  std::vector<State> states = states_of(view);
  if (start < next_ || states == noted_) return;
  auto catalogue = Catalogue::open(place_);
  const bool is_noted = catalogue.ok() && note_tasks(*catalogue, plan_, view, kOpen).ok();
  if (is_noted) noted_ = std::move(states);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(kNotesApart, kNotesShare * (end - start));
}

Status note_sweep(const std::string& place, const sweep::Plan& plan, const View& view,
                  const std::string& state, bool is_quiet, const sweep::Folder& folder) {
  XSP_TRY(Catalogue catalogue, Catalogue::open(place));
  const bool is_shown = !is_quiet && terminal_of(2).is_terminal;
  XSP_TRY(const catalogue::Added added,
          catalogue.add({folder.results()}, [&](size_t done, size_t all) {
            if (is_shown) std::fprintf(stderr, "\rreading %zu/%zu", done, all);
          }));
  if (is_shown) std::fprintf(stderr, "\r\033[K");
  for (const std::string& problem : added.problems) {
    std::fprintf(stderr, "left out: %s\n", problem.c_str());
  }
  return note_tasks(catalogue, plan, view, state);
}

Status print_results(const std::string& place, const sweep::Folder& folder, const sweep::Plan& plan,
                     const View& view) {
  XSP_TRY(Catalogue catalogue, Catalogue::open_for_reading(place));
  XSP_TRY(store::Table table,
          catalogue.query(
              "SELECT m.name AS model, f.name AS framework, e.device, nullif(e.batch, 0) AS batch, "
              "e.scenario, "
              "l.value AS latency_ns, l.low AS latency_low_ns, l.high AS latency_high_ns, "
              "t.value AS throughput_per_s FROM evaluation e "
              "JOIN model m ON m.id = e.model JOIN framework f ON f.id = e.framework "
              "LEFT JOIN result l ON l.evaluation = e.id AND l.metric = 'inference.latency' "
              "LEFT JOIN result t ON t.evaluation = e.id AND t.metric = 'throughput' "
              "WHERE e.task LIKE $1 AND e.task NOT LIKE $2 "
              "ORDER BY model, framework, device, batch, scenario",
              {plan.id + "/%", plan.id + "/" + catalogue::kReferencePrefix + "%"}));
  OutputOptions all;
  all.all = true;
  if (!table.rows.empty()) {
    XSP_CHECK_OK(write_stdout(render(sheet_of(std::move(table)), all, terminal_of(1))));
  }
  // Tasks without a result for the same reason are told together.
  std::map<std::string, std::vector<std::string>> names_by_reason;
  for (size_t i = 0; i < view.tasks.size(); ++i) {
    const TaskView& task = view.tasks[i];
    if (task.state == State::kDone || task.why.empty()) continue;
    names_by_reason[task.why].push_back(plan.tasks[i].name);
  }
  for (const auto& [why, names] : names_by_reason) {
    XSP_CHECK_OK(
        write_stdout(wrapped("no result: " + joined(names) + ": " + why, terminal_of(1).width, 2)));
  }
  for (const sweep::LeftOut& one : plan.left_out) {
    XSP_CHECK_OK(write_stdout("left out: " + one.what + ": " + one.why + "\n"));
  }
  XSP_TRY(const std::vector<catalogue::Drift> drifts, catalogue::drifts(catalogue, plan.id));
  for (const catalogue::Drift& one : drifts) {
    XSP_CHECK_OK(write_stdout(wrapped(drift_text(one), terminal_of(1).width, 2)));
  }
  return write_stdout(counts_text(view) + "; the tasks took " + clock_text(view.used_s) +
                      " in all; results in " + folder.results().string() + "\n");
}

Status write_sweep_site(const std::string& place, const sweep::Folder& folder, bool is_quiet) {
  XSP_TRY(Catalogue catalogue, Catalogue::open_for_reading(place));
  const fs::path output = folder.path() / "site";
  XSP_TRY(const site::Written written, site::write_site(catalogue, output));
  if (!is_quiet) {
    std::fprintf(stderr, "wrote %s: open %s\n", counted(written.pages, "page").c_str(),
                 (output / "index.html").c_str());
  }
  return Ok{};
}

}  // namespace xsp::cli
