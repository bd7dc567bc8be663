#include "desk/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

namespace xsp::sweep {
namespace {

constexpr std::chrono::milliseconds kPatience{500};
// A busy controller of a cluster times out now and then, and a server may be started anew.
constexpr double kEnginePatience_s = 300;
constexpr double kSubmitPause_s = 2;
// A file that a node wrote may be seen here later than the end of its job.
constexpr double kFilesPatience_s = 5;
constexpr size_t kReasonsOfEnd = 3;
// With a budget, no more units are given to the engine than it is likely to begin soon.
constexpr size_t kHeldWithBudget = 8;

double used_by(const std::vector<Attempt>& attempts) {
  double seconds = 0;
  for (const Attempt& one : attempts) seconds += one.seconds;
  return seconds;
}

class Loop {
 public:
  Loop(const Folder& folder, const Plan& plan, executors::Session& session)
      : folder_(folder), plan_(plan), session_(session), tasks_(plan.tasks.size()) {
    view_ = view_of(folder, plan);
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      Known& known = tasks_[i];
      const std::vector<Attempt> attempts = folder.attempts(plan.tasks[i]);
      // An attempt that still runs, perhaps on a machine that is dead, is judged once it has ended.
      if (!attempts.empty()) {
        const Attempt& last = attempts.back();
        known.seen = last.end == End::kNone ? last.number - 1 : last.number;
      }
      TaskView& task = view_.tasks[i];
      if (task.state != State::kDone) task.state = State::kPending;
    }
  }

  Result<View> run(const std::atomic<int>& stop, const std::function<void(const View&)>& told) {
    for (auto patience = std::chrono::milliseconds(0); stop == 0; patience = kPatience) {
      const auto held = session_.poll(patience);
      if (!held.ok()) {
        if (answered_at_ == 0) return held.error();
        if (now_s() - answered_at_ > kEnginePatience_s) {
          return given_up("has not answered", held.error());
        }
        view_.silence = held.error().text;
        told(view_);
        std::this_thread::sleep_for(kPatience);
        continue;
      }
      answered_at_ = now_s();
      view_.silence.clear();
      for (size_t i = 0; i < tasks_.size(); ++i) {
        const auto found = held->find(i);
        look(i, found == held->end() ? nullptr : &found->second);
      }
      const Status submitted = submit(held->size());
      told(view_);
      XSP_CHECK_OK(submitted);
      if (view_.is_over()) break;
    }
    return view_;
  }

 private:
  struct Known {
    int seen = 0;        // attempts that are judged
    int tries = 0;       // that count against the retries
    std::string reason;  // of the last one
    std::string waited;  // why it waited, when the engine last had it
    double gone_at = 0;  // since when the engine lacks it; 0: it has it, or never had
    bool is_asked = false;
    bool is_unsure = false;  // a submit failed, which may have taken it
  };

  // The submit that failed, until the engine has all tasks that it was asked for.
  struct Refusal {
    Error error;
    size_t tasks = 0;
    double since = 0;  // when it last took one of them
    double tried_at = 0;
  };

  void look(size_t index, const executors::Held* held) {
    TaskView& task = view_.tasks[index];
    Known& known = tasks_[index];
    if (task.state == State::kDone || task.state == State::kFailed || task.state == State::kLeft) {
      return;
    }
    if (held != nullptr) {
      known.is_asked = true;
      known.gone_at = 0;
      if (task.state != State::kRunning && held->is_running) task.started_at = now_s();
      task.state = held->is_running ? State::kRunning : State::kWaiting;
      task.where = held->where;
      task.why = known.waited = held->why;
      return;
    }
    if (known.is_asked) return judge(index);
  }

  // Judges a task that the engine had and has no more.
  void judge(size_t index) {
    TaskView& task = view_.tasks[index];
    Known& known = tasks_[index];
    const Task& planned = plan_.tasks[index];
    std::vector<Attempt> attempts = folder_.attempts(planned);
    if (folder_.is_done(planned)) return settle_done(index, attempts);
    const bool has_new = !attempts.empty() && attempts.back().number > known.seen;
    if (!has_new || attempts.back().end == End::kNone) {
      if (known.gone_at == 0) known.gone_at = now_s();
      if (now_s() - known.gone_at < kFilesPatience_s) return;
      if (has_new) {
        Attempt& last = attempts.back();
        last.end = End::kLost;
        last.reason = "its machine or its process was lost";
        (void)folder_.note(planned, last);
      }
    }
    view_.used_s += has_new ? attempts.back().seconds : 0;
    const End end = has_new ? attempts.back().end : End::kLost;
    const std::string waited = known.waited.empty() ? "" : " (why it waited: " + known.waited + ")";
    task.why = has_new ? attempts.back().reason
                       : "the engine ended it before it began" + waited + ": see " +
                             (folder_.path() / "engine").string();
    known.waited.clear();
    if (has_new) known.seen = attempts.back().number;
    task.attempts = static_cast<int>(attempts.size());
    known.is_asked = false;
    known.gone_at = 0;
    // A measurement that fails twice in the same way fails a third time.
    const bool is_same = end == End::kFailed && known.tries > 0 && task.why == known.reason;
    const bool is_final = end == End::kRefused || end == End::kTimeout || is_same;
    known.reason = task.why;
    if (end != End::kInterrupted) ++known.tries;
    task.state = is_final || known.tries > plan_.retries ? State::kFailed : State::kPending;
  }

  void settle_done(size_t index, const std::vector<Attempt>& attempts) {
    TaskView& task = view_.tasks[index];
    task.state = State::kDone;
    task.why.clear();
    task.attempts = static_cast<int>(attempts.size());
    for (const Attempt& one : attempts) {
      if (one.number > tasks_[index].seen) view_.used_s += one.seconds;
      if (one.end != End::kDone) continue;
      task.seconds = one.seconds;
      task.where = one.host;
    }
  }

  // Returns why no more tasks may begin; empty: they may.
  std::string budget_used() const {
    if (plan_.budget_s && view_.used_s >= *plan_.budget_s) return "the budget of time is used";
    if (plan_.budget_cost && view_.used_s / 3600 * plan_.price >= *plan_.budget_cost) {
      return "the budget of money is used";
    }
    return {};
  }

  Error given_up(const char* what, const Error& error) const {
    return {error.code, std::string("the engine ") + what + " for five minutes: " + error.text +
                            ": when it does, go on with xsp sweep resume " +
                            folder_.path().string()};
  }

  // Returns the tasks that the engine is to get, and leaves out what no budget allows.
  std::vector<size_t> next_tasks(size_t held) {
    const std::string used = budget_used();
    const bool has_budget = plan_.budget_s || plan_.budget_cost;
    std::vector<size_t> indexes;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      TaskView& task = view_.tasks[i];
      if (task.state != State::kPending || tasks_[i].is_asked) continue;
      if (!used.empty()) {
        task.state = State::kLeft;
        task.why = used;
      } else if (!has_budget || held + indexes.size() < kHeldWithBudget) {
        indexes.push_back(i);
      }
    }
    return indexes;
  }

  // Returns whether a task has come to something that is not judged yet.
  bool has_news(size_t index) const {
    const Task& planned = plan_.tasks[index];
    const std::vector<Attempt> attempts = folder_.attempts(planned);
    return folder_.is_done(planned) ||
           (!attempts.empty() && attempts.back().number > tasks_[index].seen);
  }

  // Is called after each poll, which has told what a submit took that failed. So no task is
  // submitted twice. The error is final: the engine never took a task, or says that it never will,
  // or took none for too long.
  Status submit(size_t held) {
    has_taken_ = has_taken_ || held > 0;
    std::vector<size_t> indexes = next_tasks(held);
    if (refusal_) {
      const Error& error = refusal_->error;
      const bool is_never = error.code == Code::kUsage || error.code == Code::kNotAvailable;
      if (has_taken_) view_.silence = error.text;
      if (!has_taken_ || is_never) return error;
      if (now_s() - refusal_->since > kEnginePatience_s) {
        return given_up("has taken no task", error);
      }
      if (now_s() - refusal_->tried_at < kSubmitPause_s) return Ok{};
      // The engine may have taken some of these tasks, and may have ended them already.
      for (const size_t i : indexes) tasks_[i].is_asked = tasks_[i].is_unsure && has_news(i);
      std::erase_if(indexes, [this](size_t i) { return tasks_[i].is_asked; });
    }
    if (!indexes.empty()) {
      const Status submitted = session_.submit(indexes);
      if (!submitted.ok()) {
        refused(indexes, submitted.error());
        return Ok{};
      }
    }
    refusal_.reset();
    view_.silence.clear();
    for (const size_t i : indexes) {
      has_taken_ = tasks_[i].is_asked = true;
      tasks_[i].is_unsure = false;
      view_.tasks[i].state = State::kWaiting;
    }
    return Ok{};
  }

  void refused(const std::vector<size_t>& indexes, const Error& error) {
    const bool has_taken_some = !refusal_ || indexes.size() < refusal_->tasks;
    refusal_ = {error, indexes.size(), has_taken_some ? now_s() : refusal_->since, now_s()};
    if (has_taken_) view_.silence = error.text;
    for (const size_t i : indexes) tasks_[i].is_unsure = true;
  }

  const Folder& folder_;
  const Plan& plan_;
  executors::Session& session_;
  std::vector<Known> tasks_;
  View view_;
  double answered_at_ = 0;  // when the engine last did; 0: it never did
  bool has_taken_ = false;  // the engine had a task of this sweep
  std::optional<Refusal> refusal_;
};

}  // namespace

const char* text_of(State state) {
  static constexpr std::array<const char*, 6> kTexts = {"pending", "waiting", "running",
                                                        "done",    "failed",  "left"};
  return kTexts[static_cast<size_t>(state)];
}

size_t View::count(State state) const {
  return static_cast<size_t>(std::count_if(
      tasks.begin(), tasks.end(), [state](const TaskView& one) { return one.state == state; }));
}

bool View::is_over() const {
  return count(State::kPending) + count(State::kWaiting) + count(State::kRunning) == 0;
}

View view_of(const Folder& folder, const Plan& plan) {
  View view;
  for (const Task& planned : plan.tasks) {
    TaskView task;
    const std::vector<Attempt> attempts = folder.attempts(planned);
    view.used_s += used_by(attempts);
    task.attempts = static_cast<int>(attempts.size());
    if (!attempts.empty()) {
      const Attempt& last = attempts.back();
      task.where = last.host;
      task.why = last.reason;
      task.started_at = last.started_at;
      task.state = last.end == End::kNone          ? State::kRunning
                   : last.end == End::kInterrupted ? State::kPending
                                                   : State::kFailed;
    }
    if (folder.is_done(planned)) {
      task.state = State::kDone;
      task.why.clear();
      for (const Attempt& one : attempts) {
        if (one.end != End::kDone) continue;
        task.seconds = one.seconds;
        task.where = one.host;
      }
    }
    view.tasks.push_back(std::move(task));
  }
  return view;
}

SweepEnd end_of(const View& view, bool is_over) {
  const size_t open = view.tasks.size() - view.count(State::kDone);
  if (!is_over) return {"cancelled", "it was interrupted: xsp sweep resume goes on with it"};
  if (open == 0) return {"done", ""};
  std::vector<std::string> reasons;
  for (const TaskView& task : view.tasks) {
    const bool is_new = std::find(reasons.begin(), reasons.end(), task.why) == reasons.end();
    if (task.state != State::kDone && !task.why.empty() && is_new) reasons.push_back(task.why);
  }
  std::string text =
      std::to_string(open) + " of " + std::to_string(view.tasks.size()) + " tasks have no result";
  for (size_t i = 0; i < std::min(reasons.size(), kReasonsOfEnd); ++i) {
    text += (i == 0 ? ": " : "; ") + reasons[i];
  }
  if (reasons.size() > kReasonsOfEnd) {
    const size_t rest = reasons.size() - kReasonsOfEnd;
    text += "; and " + std::to_string(rest) + (rest == 1 ? " other reason" : " other reasons");
  }
  return {"failed", text};
}

Result<View> run_sweep(const Folder& folder, const Plan& plan, executors::Session& session,
                       const std::atomic<int>& stop, const std::function<void(const View&)>& told) {
  return Loop(folder, plan, session).run(stop, told);
}

std::string left_behind(const Folder& folder, const executors::Executor& executor,
                        const View& view) {
  const size_t waiting = view.count(State::kWaiting), running = view.count(State::kRunning);
  const size_t count = waiting + running;
  if (!executor.outlives_session || count == 0) return {};
  return executor.name + " goes on with " + std::to_string(count) +
         (count == 1 ? " job" : " jobs") + " of this sweep (" + std::to_string(running) +
         " running, " + std::to_string(waiting) + " waiting): end " + (count == 1 ? "it" : "them") +
         " with xsp sweep cancel " + folder.path().string();
}

Status cancel_jobs(const Folder& folder, const Plan& plan, const executors::Executor& executor,
                   const std::filesystem::path& program) {
  XSP_TRY(const auto session, executor.open(job_of(folder, plan, program)));
  return session->cancel();
}

executors::Job job_of(const Folder& folder, const Plan& plan,
                      const std::filesystem::path& program) {
  executors::Job job;
  job.id = plan.id;
  job.plan = std::filesystem::absolute(folder.plan_file());
  job.program = program;
  job.settings = plan.settings;
  job.limit_s = plan.timeout_s;
  for (const Task& task : plan.tasks)
    job.units.push_back({task.name, task.device, task.system, task.container});
  return job;
}

}  // namespace xsp::sweep
