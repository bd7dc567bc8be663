#include "desk/cli/serve_sweep.h"

#include <algorithm>

#include "desk/catalogue/engine.h"
#include "desk/cli/serve_child.h"
#include "desk/manifest/shipped.h"
#include "desk/sweep/child.h"
#include "desk/sweep/foreign.h"
#include "desk/sweep/sweep.h"
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
  return usage("'" + model + "': not a model of xsp models --list");
}

serve::SweepState with_counts(serve::SweepState state, const sweep::Folder& folder) {
  const auto plan = folder.plan();
  if (!plan.ok()) return state;
  const sweep::View view = sweep::view_of(folder, *plan);
  state.id = plan->id;
  state.tasks = plan->tasks.size();
  state.done = view.count(sweep::State::kDone);
  state.running = state.state == "running" ? view.count(sweep::State::kRunning) : 0;
  state.failed = view.count(sweep::State::kFailed);
  return state;
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
  XSP_TRY(sweep::Plan plan, sweep::expand({kFile, whole}, executor_));
  plan.place = catalogue::lasting_place(options_.place);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::error_code error;
  if (known_.count(plan.name) != 0 || fs::exists(folder_of(plan.name), error)) {
    return usage("sweep '" + plan.name + "': there is one of this name: give it another");
  }
  if (waiting_.size() >= kWaiting) {
    return Error{Code::kInterrupted, "sweeps: too many wait: ask again later"};
  }
  fs::create_directories(folder_of(plan.name).parent_path(), error);
  XSP_CHECK_OK(sweep::Folder(folder_of(plan.name)).create(plan));
  known_[plan.name] = {};
  waiting_.push_back(plan.name);
  changed_.notify_all();
  return look(plan.name);
}

Result<serve::SweepState> NetworkSweeps::look(const std::string& name) {
  const auto found = known_.find(name);
  const sweep::Folder folder(folder_of(name));
  if (found == known_.end()) {
    const bool is_name = name.find('/') == std::string::npos && !name.starts_with('.');
    if (!is_name || !folder.exists()) {
      return not_available("sweep '" + name + "': no request has started it");
    }
    // A server that has ended had started it.
    serve::SweepState state =
        with_counts({.name = name, .id = "", .state = "stopped", .reason = ""}, folder);
    if (state.done == state.tasks) state.state = "done";
    return state;
  }
  return with_counts(
      {.name = name, .id = "", .state = found->second.state, .reason = found->second.reason},
      folder);
}

Result<serve::SweepState> NetworkSweeps::find(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return look(name);
}

Result<serve::SweepState> NetworkSweeps::cancel(const std::string& name) {
  std::unique_lock<std::mutex> lock(mutex_);
  XSP_TRY([[maybe_unused]] const serve::SweepState before, look(name));
  const auto waits = std::find(waiting_.begin(), waiting_.end(), name);
  if (waits != waiting_.end()) {
    waiting_.erase(waits);
    known_[name].state = "cancelled";
  } else if (running_ == name) {
    stop_ = 1;
    changed_.wait(lock, [&] { return running_ != name; });
  }
  return look(name);
}

void NetworkSweeps::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
    if (is_over_) return;
    running_ = waiting_.front();
    waiting_.pop_front();
    stop_ = 0;
    known_[running_].state = "running";
    const std::string name = running_;
    lock.unlock();
    One ended = run(name);
    lock.lock();
    known_[name] = std::move(ended);
    running_.clear();
    changed_.notify_all();
  }
}

NetworkSweeps::One NetworkSweeps::run(const std::string& name) {
  One one{.state = "failed", .reason = ""};
  const auto scratch = ScratchFolder::create();
  if (!scratch.ok()) {
    one.reason = scratch.error().text;
    return one;
  }
  sweep::ChildOptions child;
  child.words = {"/proc/self/exe", "sweep", "resume",      folder_of(name).string(),
                 "--no-site",      "--db",  options_.place};
  child.log = (*scratch)->path() / "log";
  child.out = [](std::string_view) { return true; };
  child.stop = &stop_;
  const Result<sweep::ChildEnd> end = sweep::run_child(child);
  if (!end.ok()) {
    one.reason = end.error().text;
  } else if (end->status == 0) {
    one.state = "done";
  } else if (end->is_stopped) {
    one.state = "cancelled";
  } else {
    one.reason = reason_of(child.log);
  }
  return one;
}

}  // namespace xsp::cli
