#include "desk/cli/serve_sweep.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "desk/catalogue/engine.h"
#include "desk/cli/profile_model.h"
#include "desk/cli/serve_child.h"
#include "desk/cli/sweep_names.h"
#include "desk/manifest/shipped.h"
#include "desk/sweep/child.h"
#include "desk/sweep/foreign.h"
#include "desk/sweep/sweep.h"
#include "executors/shared/executor.h"
#include "shared/base/scratch.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWaiting = 16;              // sweeps at most
constexpr const char* kFile = "sweep.yaml";  // as errors call the text of a request

Status check_model(const std::string& model) {
  if (zoo::find_model(model) != nullptr) return Ok{};
  const Result<manifest::Manifest> manifest = manifest::find_manifest(model);
  if (manifest.ok()) return check_no_code(*manifest);
  // Such a word means code, or a model that is made of the word.
  if (model.find(':') != std::string::npos) {
    return usage("'" + model + "': not a model of xsp models --list");
  }
  return unknown_model(model, std::strerror(ENOENT));
}

}  // namespace

Result<executors::Settings> settings_in(const std::string& text,
                                        const executors::Executor& executor) {
  return sweep::settings_of({"--executors", "name: trial\nmodels: [trial]\n" + text}, executor);
}

Result<std::unique_ptr<NetworkSweeps>> NetworkSweeps::open(NetworkSweepsOptions options) {
  XSP_TRY(executors::Executor executor, executors::find_executor(options.executor));
  XSP_TRY([[maybe_unused]] const executors::Settings settings,
          settings_in(options.settings, executor));
  return std::unique_ptr<NetworkSweeps>(new NetworkSweeps(std::move(options), std::move(executor)));
}

NetworkSweeps::NetworkSweeps(NetworkSweepsOptions options, executors::Executor executor)
    : options_(std::move(options)), executor_(std::move(executor)), thread_([this] { work(); }) {}

NetworkSweeps::~NetworkSweeps() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    stop_ = 1;
  }
  changed_.notify_all();
  thread_.join();
}

fs::path NetworkSweeps::folder_of(const std::string& name) const {
  return options_.folder / "sweeps" / name;
}

Result<serve::SweepState> NetworkSweeps::start(const std::string& text) {
  XSP_CHECK_OK(sweep::check_foreign({kFile, text}, check_model));
  const std::string whole = text + "\n" + options_.settings;
  XSP_TRY(const sweep::Names names, sweep_names());
  XSP_TRY(sweep::Plan plan, sweep::expand({kFile, whole}, executor_, names));
  plan.place = catalogue::lasting_place(options_.place);
  const std::lock_guard<std::mutex> lock(mutex_);
  const sweep::Folder folder(folder_of(plan.name));
  if (folder.exists()) {
    return usage("sweep '" + plan.name + "': there is one of this name: give it another");
  }
  if (waiting_.size() >= kWaiting) {
    return Error{Code::kInterrupted, "sweeps: too many wait: ask again later"};
  }
  XSP_CHECK_OK(folder.create(plan));
  waiting_.push_back(plan.name);
  changed_.notify_all();
  return look(plan.name);
}

Result<std::string> NetworkSweeps::name_of(const std::string& asked) const {
  const Error none = not_available("sweep '" + asked + "': no request has started it");
  if (asked.find('/') != std::string::npos || asked.starts_with('.')) return none;
  if (sweep::Folder(folder_of(asked)).exists()) return asked;
  std::error_code error;
  fs::directory_iterator at(options_.folder / "sweeps", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const auto plan = sweep::Folder(at->path()).plan();
    if (plan.ok() && plan->id == asked) return at->path().filename().string();
  }
  return none;
}

Result<serve::SweepState> NetworkSweeps::look(const std::string& asked) const {
  XSP_TRY(const std::string name, name_of(asked));
  const sweep::Folder folder(folder_of(name));
  XSP_TRY(const sweep::Plan plan, folder.plan());
  const sweep::View view = sweep::view_of(folder, plan);
  serve::SweepState state;
  state.name = name;
  state.id = plan.id;
  state.tasks = plan.tasks.size();
  state.done = view.count(sweep::State::kDone);
  state.failed = view.count(sweep::State::kFailed);
  if (running_ == name) {
    state.state = "running";
    state.running = view.count(sweep::State::kRunning);
  } else if (std::find(waiting_.begin(), waiting_.end(), name) != waiting_.end()) {
    state.state = "waiting";
  } else if (const auto end = folder.end()) {
    state.state = end->state;
    state.reason = end->reason;
  } else {
    state.state = "stopped";
    state.reason = "its server ended before it did: xsp sweep resume goes on with it";
  }
  return state;
}

Result<serve::SweepState> NetworkSweeps::find(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return look(name);
}

Result<serve::SweepState> NetworkSweeps::cancel(const std::string& asked) {
  std::unique_lock<std::mutex> lock(mutex_);
  XSP_TRY(const std::string name, name_of(asked));
  const auto waits = std::find(waiting_.begin(), waiting_.end(), name);
  if (waits != waiting_.end()) {
    waiting_.erase(waits);
    const sweep::SweepEnd end = {"cancelled", "it was cancelled before it began"};
    XSP_CHECK_OK(sweep::Folder(folder_of(name)).note_end(end));
  } else if (running_ == name) {
    stop_ = 1;
    changed_.wait(lock, [&] { return running_ != name; });
    // The engine's answer may take seconds, in which other requests are answered.
    lock.unlock();
    XSP_CHECK_OK(cancel_jobs(name));
    lock.lock();
  }
  return look(name);
}

Status NetworkSweeps::cancel_jobs(const std::string& name) const {
  if (!executor_.outlives_session) return Ok{};
  const sweep::Folder folder(folder_of(name));
  XSP_TRY(const sweep::Plan plan, folder.plan());
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return sweep::cancel_jobs(folder, plan, executor_, program);
}

void NetworkSweeps::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
    if (is_over_) return;
    running_ = waiting_.front();
    waiting_.pop_front();
    stop_ = 0;
    const std::string name = running_;
    lock.unlock();
    run(name);
    lock.lock();
    running_.clear();
    changed_.notify_all();
  }
}

void NetworkSweeps::run(const std::string& name) {
  const sweep::Folder folder(folder_of(name));
  const auto scratch = ScratchFolder::create();
  if (!scratch.ok()) {
    (void)folder.note_end(sweep::SweepEnd{"failed", scratch.error().text});
    return;
  }
  sweep::ChildOptions child;
  child.words = {"/proc/self/exe", "sweep", "resume",      folder.path().string(),
                 "--no-site",      "--db",  options_.place};
  child.log = (*scratch)->path() / "log";
  child.out = [](std::string_view) { return true; };
  child.stop = &stop_;
  // It first ends its tasks, which takes so long, and notes its end after them.
  child.end_s = std::chrono::duration<double>(executors::kEndPatience).count() + 10;
  const Result<sweep::ChildEnd> end = sweep::run_child(child);
  if (folder.end()) return;  // the child has told it
  if (!end.ok()) {
    (void)folder.note_end(sweep::SweepEnd{"failed", end.error().text});
  } else if (end->is_stopped) {
    (void)folder.note_end(sweep::SweepEnd{"cancelled", "it was interrupted"});
  } else {
    (void)folder.note_end(sweep::SweepEnd{"failed", reason_of(child.log)});
  }
}

}  // namespace xsp::cli
