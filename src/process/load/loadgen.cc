#include "process/load/loadgen.h"

#include <issue_query_controller.h>
#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>

#include "shared/base/guard.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

using LoadgenClock = std::chrono::high_resolution_clock;
using std::chrono::nanoseconds;

mlperf::TestSettings settings_of(const LoadSettings& load) {
  const LoadgenSettings& given = load.loadgen;
  mlperf::TestSettings settings;
  settings.mode =
      given.is_accuracy ? mlperf::TestMode::AccuracyOnly : mlperf::TestMode::PerformanceOnly;
  // The number of requests alone ends the test: LoadGen makes no more queries than the least number
  // if there is no least duration.
  settings.min_duration_ms = 0;
  settings.max_duration_ms = static_cast<uint64_t>(load.time_ns / 1'000'000);
  settings.min_query_count = load.requests;
  settings.qsl_rng_seed = settings.sample_index_rng_seed = settings.schedule_rng_seed = load.seed;
  switch (given.scenario) {
    case LoadgenScenario::kSingle:
      settings.scenario = mlperf::TestScenario::SingleStream;
      break;
    case LoadgenScenario::kMulti:
      settings.scenario = mlperf::TestScenario::MultiStream;
      settings.multi_stream_samples_per_query = load.group;
      settings.min_query_count = load.requests / load.group;
      break;
    case LoadgenScenario::kServer:
      settings.scenario = mlperf::TestScenario::Server;
      settings.server_target_qps = load.rate;
      settings.server_target_latency_ns = static_cast<uint64_t>(given.latency_ns);
      settings.server_target_latency_percentile = given.latency_share;
      break;
    case LoadgenScenario::kOffline:
      settings.scenario = mlperf::TestScenario::Offline;
      break;
  }
  return settings;
}

mlperf::LogSettings logs_of(const LoadSettings& load) {
  mlperf::LogSettings logs;
  logs.log_output.outdir = load.loadgen.logs;
  logs.enable_trace = false;  // the requests' spans show more
  return logs;
}

// The samples are the items, which the pipeline reads when a request brings one.
class Samples : public mlperf::QuerySampleLibrary {
 public:
  explicit Samples(size_t count) : count_(count) {}
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return count_; }
  size_t PerformanceSampleCount() override { return count_; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  const std::string name_ = "xsp";
  const size_t count_;
};

int64_t arrival_of(const mlperf::QuerySample& sample) {
  const auto* known = reinterpret_cast<const mlperf::loadgen::SampleMetadata*>(sample.id);
  const auto ago = LoadgenClock::now() - known->query_metadata->scheduled_time;
  // The system's clock may have been set back meanwhile.
  return xsp_now_ns() - std::max<int64_t>(0, std::chrono::duration_cast<nanoseconds>(ago).count());
}

}  // namespace

class LoadgenSource::Test : public mlperf::SystemUnderTest {
 public:
  explicit Test(const LoadSettings& settings)
      : settings_(settings), samples_(settings.loadgen.samples) {
    thread_ = std::thread([this] {
      const auto thrown = guard([this] {
        // A file audit.config in the current folder would change the settings: none is read.
        mlperf::StartTest(this, &samples_, settings_of(settings_), logs_of(settings_), "");
      });
      const std::lock_guard lock(mutex_);
      thrown_ = thrown;
      has_issued_all_ = has_returned_ = true;
      changed_.notify_all();
    });
  }
  ~Test() override { end(); }

  const std::string& Name() override { return name_; }

  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    const int64_t arrival_ns = arrival_of(samples.front());
    const std::lock_guard lock(mutex_);
    for (const mlperf::QuerySample& sample : samples) {
      arrived_.push_back({issued_++, arrival_ns, sample.id, sample.index});
      unanswered_.insert(sample.id);
    }
    changed_.notify_all();
  }

  void FlushQueries() override {
    const std::lock_guard lock(mutex_);
    has_issued_all_ = true;
    changed_.notify_all();
  }

  void take(std::deque<LoadRequest>* queue) {
    const std::lock_guard lock(mutex_);
    queue->insert(queue->end(), arrived_.begin(), arrived_.end());
    arrived_.clear();
  }

  void wait_until(int64_t ns) {
    std::unique_lock lock(mutex_);
    const auto has_news = [this] { return !arrived_.empty() || has_issued_all_ || is_woken_; };
    if (ns == kNever) {
      changed_.wait(lock, has_news);
    } else {
      changed_.wait_for(lock, nanoseconds(ns - xsp_now_ns()), has_news);
    }
    is_woken_ = false;
  }

  void wake() {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    changed_.notify_all();
  }

  // Tells LoadGen the answers of a batch.
  void answer(std::span<const LoadRequest> batch, std::span<const std::string> answers) {
    std::vector<mlperf::QuerySampleResponse> responses;
    for (size_t i = 0; i < batch.size(); ++i) {
      responses.emplace_back(batch[i].handle, 0, 0);
      if (i >= answers.size()) continue;
      responses.back().data = reinterpret_cast<uintptr_t>(answers[i].data());
      responses.back().size = answers[i].size();
    }
    {
      const std::lock_guard lock(mutex_);
      for (const LoadRequest& request : batch) unanswered_.erase(request.handle);
    }
    mlperf::QuerySamplesComplete(responses.data(), responses.size());
  }

  bool has_issued_all() {
    const std::lock_guard lock(mutex_);
    return has_issued_all_ && arrived_.empty();
  }

  // Answers what is left until LoadGen returns.
  void end() {
    while (thread_.joinable()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_returned_ || !unanswered_.empty(); });
      std::vector<mlperf::QuerySampleResponse> responses;
      for (const mlperf::ResponseId id : unanswered_) responses.emplace_back(id, 0, 0);
      abandoned_ += unanswered_.size();
      unanswered_.clear();
      const bool has_returned = has_returned_;
      lock.unlock();
      if (!responses.empty()) mlperf::QuerySamplesComplete(responses.data(), responses.size());
      if (has_returned) thread_.join();
    }
  }

  uint64_t unanswered() {
    const std::lock_guard lock(mutex_);
    return unanswered_.size();
  }

  bool is_server() const { return settings_.loadgen.scenario == LoadgenScenario::kServer; }
  uint64_t issued() const { return issued_; }
  uint64_t abandoned() const { return abandoned_; }
  const std::optional<Thrown>& thrown() const { return thrown_; }

 private:
  const std::string name_ = "xsp";
  const LoadSettings settings_;
  Samples samples_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LoadRequest> arrived_;
  std::unordered_set<mlperf::ResponseId> unanswered_;
  uint64_t issued_ = 0;
  uint64_t abandoned_ = 0;
  bool has_issued_all_ = false;
  bool has_returned_ = false;
  bool is_woken_ = false;
  std::optional<Thrown> thrown_;
  std::thread thread_;
};

LoadgenSource::LoadgenSource(std::unique_ptr<Test> test) : test_(std::move(test)) {}
LoadgenSource::~LoadgenSource() = default;

std::unique_ptr<LoadgenSource> LoadgenSource::start(const LoadSettings& settings) {
  return std::unique_ptr<LoadgenSource>(new LoadgenSource(std::make_unique<Test>(settings)));
}

void LoadgenSource::take(int64_t /*now_ns*/, std::deque<LoadRequest>* queue) { test_->take(queue); }

int64_t LoadgenSource::next_ns() {
  // Only a server's requests come before others are answered, at times that LoadGen keeps.
  constexpr int64_t kAskAgainNs = 1'000'000'000;
  return test_->is_server() && !test_->has_issued_all() ? xsp_now_ns() + kAskAgainNs : kNever;
}

void LoadgenSource::wait_until(int64_t ns, Clock& /*clock*/) { test_->wait_until(ns); }

void LoadgenSource::wake(Clock& /*clock*/) { test_->wake(); }

void LoadgenSource::answered(std::span<const LoadRequest> batch, std::span<const std::string> texts,
                             int64_t /*done_ns*/) {
  test_->answer(batch, texts);
}

bool LoadgenSource::has_ended() { return test_->has_issued_all(); }

Result<uint64_t> LoadgenSource::end() {
  test_->end();
  if (test_->thrown()) return failed("LoadGen: " + test_->thrown()->text);
  if (test_->issued() == 0) return failed("LoadGen: it issued nothing: see its logs");
  return test_->abandoned();
}

uint64_t LoadgenSource::leave() { return test_.release()->unanswered(); }

}  // namespace xsp::process
