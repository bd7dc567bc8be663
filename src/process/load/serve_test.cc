// The queue, the batcher and the generators in simulated time, against queueing theory.
#include "process/load/serve.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "process/load/settings.h"
#include "process/load/sources.h"

namespace xsp::process {
namespace {

class SimulatedClock : public Clock {
 public:
  int64_t now_ns() override { return now_; }
  void wait_until(int64_t ns) override { now_ = std::max(now_, ns); }
  int64_t now_ = 0;
};

// A model whose run takes a fixed time, whatever the batch.
class FixedServer : public Server {
 public:
  FixedServer(SimulatedClock& clock, int64_t run_ns) : clock_(clock), run_ns_(run_ns) {}
  Status prepare(std::span<const LoadRequest>) override {
    clock_.now_ += prepare_ns_;
    return Ok{};
  }
  Status run(std::span<const LoadRequest> batch) override {
    if (batch.size() > largest_) largest_ = batch.size();
    clock_.now_ += run_ns_;
    return Ok{};
  }
  bool has_output() const override { return finish_ns_ > 0; }
  Status finish(std::span<const LoadRequest>) override {
    clock_.now_ += finish_ns_;
    return Ok{};
  }
  int64_t prepare_ns_ = 0;
  int64_t finish_ns_ = 0;
  size_t largest_ = 0;

 private:
  SimulatedClock& clock_;
  const int64_t run_ns_;
};

LoadReport simulate(const LoadSettings& settings, int64_t run_ns, int64_t prepare_ns = 0,
                    int64_t finish_ns = 0) {
  SimulatedClock clock;
  FixedServer server(clock, run_ns);
  server.prepare_ns_ = prepare_ns;
  server.finish_ns_ = finish_ns;
  const auto source = make_source(settings, 0);
  Server* const servers[] = {&server};
  const auto report = serve(settings, 0, *source, servers, clock, {});
  EXPECT_TRUE(report.ok());
  return *report;
}

LoadSettings server_settings(double rate, uint64_t requests) {
  LoadSettings settings;
  settings.generator = Generator::kServer;
  settings.rate = rate;
  settings.requests = requests;
  return settings;
}

void expect_conserved(const LoadReport& report, const LoadSettings& settings) {
  std::set<uint64_t> seen;
  for (const Answer& a : report.answers) {
    EXPECT_TRUE(seen.insert(a.id).second) << "request " << a.id << " was answered twice";
    EXPECT_LE(a.arrival_ns, a.free_ns);
    EXPECT_LE(a.free_ns, a.formed_ns);
    EXPECT_LE(a.formed_ns, a.ready_ns);
    EXPECT_LE(a.ready_ns, a.computed_ns);
    EXPECT_LE(a.computed_ns, a.done_ns);
    EXPECT_LE(a.batch_size, settings.max_batch);
  }
  EXPECT_EQ(report.answers.size() + report.abandoned, settings.requests);
}

// The waiting time of M/D/1 is W = rho S / (2 (1 - rho)). The interval comes from the means of
// batches of consecutive requests, whose waiting times are far from independent.
TEST(Serve, WaitsAsLongAsTheoryOfMD1Says) {
  constexpr int64_t kRunNs = 1'000'000;
  constexpr size_t kParts = 20;
  constexpr double kStudent = 2.093;  // 19 degrees of freedom
  for (const double load : {0.5, 0.8, 0.95}) {
    LoadSettings settings = server_settings(load * 1e9 / kRunNs, 1'000'000);
    settings.seed = 7;
    const LoadReport report = simulate(settings, kRunNs);
    const size_t part = report.answers.size() / kParts;
    std::vector<double> means(kParts, 0);
    for (size_t i = 0; i < part * kParts; ++i) {
      const Answer& a = report.answers[i];
      means[i / part] += static_cast<double>(a.formed_ns - a.arrival_ns);
    }
    for (double& mean : means) mean /= static_cast<double>(part);
    const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kParts;
    double squares = 0;
    for (const double m : means) squares += (m - mean) * (m - mean);
    const double half = kStudent * std::sqrt(squares / (kParts * (kParts - 1)));
    const double theory = load * kRunNs / (2 * (1 - load));
    EXPECT_LT(std::abs(mean - theory), half)
        << "load " << load << ": mean " << mean << " ± " << half << ", theory " << theory;
    EXPECT_LT(half, 0.1 * theory) << "load " << load << ": too wide to say anything";
  }
}

TEST(Serve, AnswersEachRequestOnceAndPartsAddUp) {
  LoadSettings settings = server_settings(900, 5000);
  settings.max_batch = 4;
  settings.max_wait_ns = 2'000'000;
  const LoadReport report = simulate(settings, 1'500'000, 100'000, 20'000);
  expect_conserved(report, settings);
  EXPECT_EQ(report.abandoned, 0u);
  for (const Answer& a : report.answers) {
    EXPECT_EQ((a.free_ns - a.arrival_ns) + (a.formed_ns - a.free_ns) + (a.ready_ns - a.formed_ns) +
                  (a.computed_ns - a.ready_ns) + (a.done_ns - a.computed_ns),
              a.done_ns - a.arrival_ns);
    EXPECT_EQ(a.ready_ns - a.formed_ns, 100'000);
    EXPECT_EQ(a.computed_ns - a.ready_ns, 1'500'000);
    EXPECT_EQ(a.done_ns - a.computed_ns, 20'000);
  }
}

TEST(Serve, ClosesABatchThatIsFullOrHasWaitedOrCannotGrow) {
  LoadSettings settings;
  settings.generator = Generator::kReplay;
  settings.arrivals = {0, 1000, 2000, 50'000, 50'500};
  settings.requests = 5;
  settings.max_batch = 3;
  settings.max_wait_ns = 10'000;
  const LoadReport report = simulate(settings, 100);
  ASSERT_EQ(report.batches, 2u);
  EXPECT_EQ(report.answers[0].formed_ns, 2000);    // full
  EXPECT_EQ(report.answers[3].formed_ns, 50'500);  // no request can come any more
  settings.requests = 2;
  settings.arrivals = {0, 50'000};
  const LoadReport waited = simulate(settings, 100);
  EXPECT_EQ(waited.answers[0].formed_ns, 10'000);  // has waited
  EXPECT_EQ(waited.answers[0].free_ns, 0);
}

TEST(Serve, ClosedLoopHasAsManyRequestsInFlightAsClients) {
  LoadSettings settings;
  settings.clients = 3;
  settings.requests = 10;
  settings.max_batch = 8;
  settings.max_wait_ns = 1'000'000;
  const LoadReport report = simulate(settings, 1000);
  expect_conserved(report, settings);
  EXPECT_EQ(report.batches, 4u);  // 3 + 3 + 3 + 1, without a wait for companions that cannot come
  EXPECT_EQ(report.end_ns, 4000);
}

TEST(Serve, AGroupIsSentWhenTheGroupBeforeIsAnswered) {
  LoadSettings settings;
  settings.group = 4;
  settings.requests = 12;
  settings.max_batch = 3;
  const LoadReport report = simulate(settings, 1000);
  expect_conserved(report, settings);
  EXPECT_EQ(report.batches, 6u);  // 3 + 1 for each group
}

TEST(Serve, AbandonsWhatWaitsWhenTheTimeIsOver) {
  LoadSettings settings;
  settings.generator = Generator::kOffline;
  settings.requests = 100;
  settings.time_ns = 10'000;
  const LoadReport report = simulate(settings, 1000);
  expect_conserved(report, settings);
  EXPECT_EQ(report.answers.size(), 10u);
  EXPECT_EQ(report.abandoned, 90u);
}

// A model that takes a while of real time, and fails in one of its runs.
class SleepingServer : public Server {
 public:
  explicit SleepingServer(int fails_at = -1) : fails_at_(fails_at) {}
  Status prepare(std::span<const LoadRequest>) override { return Ok{}; }
  Status run(std::span<const LoadRequest>) override {
    EXPECT_FALSE(runs_now_.exchange(true)) << "two threads call one instance";
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    runs_now_ = false;
    return runs_++ == fails_at_ ? Status(failed("as it should")) : Status(Ok{});
  }
  int runs_ = 0;

 private:
  const int fails_at_;
  std::atomic<bool> runs_now_ = false;
};

TEST(Serve, SeveralInstancesAnswerAtTheSameTimeAndEachRequestOnce) {
  for (const Generator generator : {Generator::kServer, Generator::kClosed, Generator::kOffline}) {
    LoadSettings settings = server_settings(4000, 2000);
    settings.generator = generator;
    settings.clients = 7;
    settings.instances = 3;
    settings.max_batch = 2;
    settings.max_wait_ns = 200'000;
    SleepingServer servers[3];
    Server* const all[] = {&servers[0], &servers[1], &servers[2]};
    RealClock clock;
    const int64_t start_ns = clock.now_ns();
    const auto source = make_source(settings, start_ns);
    const auto report = serve(settings, start_ns, *source, all, clock, {});
    ASSERT_TRUE(report.ok());
    expect_conserved(*report, settings);
    EXPECT_EQ(report->abandoned, 0u);
    for (const SleepingServer& server : servers) EXPECT_GT(server.runs_, 0);
    // Two runs overlap on different instances, and never on one.
    bool overlaps = false;
    std::map<uint32_t, int64_t> done_ns;
    for (const Answer& a : report->answers) {
      if (a.position > 0) continue;
      EXPECT_LE(done_ns[a.instance], a.formed_ns);
      done_ns[a.instance] = a.done_ns;
      for (const auto& [instance, ns] : done_ns) {
        overlaps |= instance != a.instance && ns > a.formed_ns;
      }
    }
    EXPECT_TRUE(overlaps);
  }
}

TEST(Serve, AnInstanceThatFailsEndsTheLoadOfAll) {
  LoadSettings settings;
  settings.clients = 2;
  settings.requests = 1'000'000;
  settings.instances = 2;
  SleepingServer good, bad(5);
  Server* const all[] = {&good, &bad};
  RealClock clock;
  const int64_t start_ns = clock.now_ns();
  const auto source = make_source(settings, start_ns);
  const auto report = serve(settings, start_ns, *source, all, clock, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().text, "as it should");
}

TEST(Sources, PoissonHasItsRateAndIsSeeded) {
  const auto arrivals = poisson_arrivals(1000, 100'000, 3);
  const double seconds = static_cast<double>(arrivals.back()) / 1e9;
  EXPECT_NEAR(seconds, 100, 2);  // six standard deviations
  EXPECT_EQ(arrivals, poisson_arrivals(1000, 100'000, 3));
  EXPECT_NE(arrivals, poisson_arrivals(1000, 100'000, 4));
}

TEST(Settings, ArrivalsAreReadOrRefusedWithTheirLine) {
  const auto arrivals = parse_arrivals("seconds\n# a trace\n10.5\n10.75\n\n11\n", "a.csv");
  ASSERT_TRUE(arrivals.ok());
  EXPECT_EQ(*arrivals, (std::vector<int64_t>{0, 250'000'000, 500'000'000}));
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"1\nx\n", "a.csv:2: 'x' is not a number of seconds"},
           {"2\n1\n", "a.csv:2: it is earlier than the arrival before it"},
           {"1\nnan\n", "a.csv:2: 'nan'"},
           {"1\n1e300\n", "a.csv:2: too late"},
           {"# none\n", "a.csv: no arrival times"}}) {
    const auto bad = parse_arrivals(text, "a.csv");
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().text.find(why), 0u) << bad.error().text;
    EXPECT_EQ(bad.error().code, Code::kUsage);
  }
}

TEST(Settings, AreReadOrRefusedWithTheirLine) {
  const auto good = parse_load_settings("generator\tserver\nrate\t10.5\nrequests\t3\nanswers\tf\n");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->rate, 10.5);
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"generator\tnone\n", "line 1: generator 'none': unknown"},
           {"requests\t3\nrate\t0\n", "line 2: rate '0'"},
           {"requests\t3\nrate\tnan\n", "line 2: rate 'nan'"},
           {"instances\t0\n", "line 1: instances '0'"},
           {"answers\ta\nrequests\t3\nlengths\tl\ntokens\tt\ninstances\t2\n",
            "instances: a generation has one"},
           {"requests\n", "line 1: not a key and a value"},
           {"requests\t3\n", "answers: missing"},
           {"answers\tf\n", "requests: missing"},
           {"answers\tf\nrequests\t3\nitems\ti\n", "items: they need outputs"},
           {"answers\tf\nrequests\t3\ngenerator\tserver\n", "rate: missing"},
           {"answers\tf\nrequests\t3\nmax_batch\t0\n", "line 3: max_batch '0'"},
           {"generator\tloadgen\nanswers\tf\nrequests\t3\n", "loadgen.logs: missing"},
           {"loadgen.latency_share\t1\n", "line 1: loadgen.latency_share '1'"},
           {"generator\tloadgen\nanswers\tf\nrequests\t3\nloadgen.logs\tl\n"
            "loadgen.scenario\tserver\nrate\t5\n",
            "loadgen.latency_ns: missing"},
           {"generator\tloadgen\nanswers\tf\nrequests\t3\nloadgen.logs\tl\ngroup\t2\n",
            "requests: not a multiple"},
           {"generator\tloadgen\nanswers\tf\nrequests\t3\nloadgen.logs\tl\n"
            "loadgen.accuracy\t1\n",
            "requests: the accuracy mode"}}) {
    const auto bad = parse_load_settings(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().text.find(why), 0u) << bad.error().text;
  }
}

}  // namespace
}  // namespace xsp::process
