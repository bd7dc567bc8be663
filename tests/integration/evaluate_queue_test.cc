// Tests xsp evaluate against queueing theory: requests that come at random to a model that takes a
// fixed time (M/D/1), on a real clock.
//
// The mean wait that Pollaczek and Khinchine give is a limit that a second of load does not reach
// at 95 %: serve_test.cc compares it with a million requests in simulated time. Here the wait
// follows from the arrivals that came and the service times that were measured, by D. V. Lindley's
// recursion ("The theory of queues with a single server", Proc. Camb. Phil. Soc. 48, 1952):
// W(n+1) = max(0, W(n) + S(n) - (A(n+1) - A(n))). So a busy machine, which makes some S(n) longer,
// or lets an instance wake up late, changes both sides.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

// The model's run of each request, with the request's arrival, in the order of the arrivals.
constexpr const char* kServed =
    "SELECT p.start_ns AS arrival, m.start_ns AS start, m.start_ns + m.duration_ns AS ended, "
    "coalesce(i.value::INT, 0) AS instance FROM span p "
    "JOIN span m ON m.run_id = p.run_id AND m.parent_id = p.span_id AND m.level = 2 "
    "LEFT JOIN attribute i ON i.run_id = p.run_id AND i.span_id = p.span_id AND i.key = 'instance' "
    "WHERE p.run_id = 1 AND p.type = 'request' ORDER BY p.start_ns";

class QueueTest : public XspTest {
 protected:
  void load(const std::vector<std::string>& scenario) const {
    std::vector<std::string> arguments = {
        "evaluate", "fake:layers=1,us=500,wait=sleep", "--framework", "fake", "-o", "a.xsp"};
    arguments.insert(arguments.end(), scenario.begin(), scenario.end());
    const Finished finished = run(arguments);
    ASSERT_EQ(finished.status, 0) << finished.err;
  }
  // Returns the requests that are answered per second, if all wait: the highest of three rates,
  // because other programs delay single loads, which take a fraction of a second.
  double capacity(const std::vector<std::string>& instances = {}) const {
    std::vector<std::string> scenario = {"--scenario", "offline", "--requests", "600"};
    scenario.insert(scenario.end(), instances.begin(), instances.end());
    double highest = 0;
    for (int i = 0; i < 3; ++i) {
      load(scenario);
      highest = std::max(highest, result("rate")["value"].get<double>());
    }
    return highest;
  }
  nlohmann::json result(const std::string& metric) const {
    return query("a.xsp", "SELECT value, low, high FROM result WHERE metric = '" + metric + "'")[0];
  }
};

// The time that an instance was busy with each request, in the order of the arrivals. If the next
// request of the instance was already waiting, this goes from the begin of one run to the begin of
// the next, else it is the run and the median of what the instance did between two runs. A request
// that finds its instance idle waits for it to wake up.
struct Service {
  std::vector<double> busy_ns;
  std::vector<double> wake_ns;  // NaN: the instance was still busy when the request came
  size_t instances = 0;         // those that answered
  size_t waits = 0;             // requests that found their instance busy
  double run_ns = 0;            // median
  double between_ns = 0;        // median
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Service service_of(const nlohmann::json& served) {
  const size_t count = served.size();
  Service service{std::vector<double>(count), std::vector<double>(count, std::nan(""))};
  const auto time = [&](size_t i, const char* what) { return served[i][what].get<double>(); };
  std::vector<double> run, between;
  std::vector<bool> measured(count, false);
  std::map<int, size_t> last;  // by instance
  for (size_t i = 0; i < count; ++i) {
    run.push_back(time(i, "ended") - time(i, "start"));
    const auto [before, is_first] = last.try_emplace(served[i]["instance"].get<int>(), i);
    if (!is_first && time(i, "arrival") < time(before->second, "ended")) {
      between.push_back(time(i, "start") - time(before->second, "ended"));
      service.busy_ns[before->second] = time(i, "start") - time(before->second, "start");
      measured[before->second] = true;
    } else {
      service.wake_ns[i] = time(i, "start") - time(i, "arrival");
    }
    before->second = i;
  }
  service.instances = last.size();
  service.waits = between.size();
  service.run_ns = median(run);
  service.between_ns = median(between);
  for (size_t i = 0; i < count; ++i) {
    if (!measured[i]) service.busy_ns[i] = run[i] + service.between_ns;
  }
  return service;
}

// The mean wait where each request takes the instance that is free first, which its own service
// time keeps busy. For one instance this is Lindley's recursion.
double mean_wait_ns(const nlohmann::json& served, const Service& service, size_t instances) {
  std::vector<double> free_ns(instances, 0), woke;
  for (const double wake : service.wake_ns) {
    if (!std::isnan(wake)) woke.push_back(wake);
  }
  const double usual_wake = woke.empty() ? 0 : median(woke);
  double sum = 0;
  for (size_t i = 0; i < served.size(); ++i) {
    const double arrival = served[i]["arrival"].get<double>();
    double& first = *std::min_element(free_ns.begin(), free_ns.end());
    const double wake = std::isnan(service.wake_ns[i]) ? usual_wake : service.wake_ns[i];
    const double begin = first > arrival ? first : arrival + wake;
    sum += begin - arrival;
    first = begin + service.busy_ns[i];
  }
  return sum / static_cast<double>(served.size());
}

TEST_F(QueueTest, TheWaitIsThatOfASingleServerAtHalfAndAtNearlyFullLoad) {
  const double highest_rate = capacity();
  for (const double busy : {0.5, 0.8, 0.95}) {
    load({"--scenario", "server", "--requests", "1500", "--rate",
          std::to_string(busy * highest_rate)});
    const nlohmann::json served = query("a.xsp", kServed);
    ASSERT_EQ(served.size(), 1500u);
    const Service service = service_of(served);
    EXPECT_LT(service.between_ns, service.run_ns / 2) << "the server idles while requests wait";
    const double mean = mean_wait_ns(served, service, 1);
    const nlohmann::json queue = result("queue.mean");
    EXPECT_LE(queue["low"].get<double>(), mean) << busy << ": " << queue;
    EXPECT_GE(queue["high"].get<double>(), mean) << busy << ": " << queue;
    EXPECT_GT(mean, 0) << "no request waits";
  }
}

// With several instances a request waits until the first of them is free, by the recursion of J.
// Kiefer and J. Wolfowitz ("On the theory of queues with many servers", Trans. Amer. Math. Soc. 78,
// 1955): the times at which the instances become free are kept in order, and each request takes the
// earliest. The service times are those that were measured.
TEST_F(QueueTest, TheWaitIsThatOfTwoInstancesAndEachRequestIsAnsweredOnce) {
  constexpr size_t kMany = 10'000;
  const double rate = 0.8 * capacity({"--instances", "2"});
  load({"--scenario", "server", "--requests", std::to_string(kMany), "--instances", "2", "--rate",
        std::to_string(rate)});
  EXPECT_EQ(result("answered")["value"], kMany);
  EXPECT_EQ(result("abandoned")["value"], 0);
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(DISTINCT value) FROM span JOIN attribute USING (run_id, span_id) "
                   "WHERE run_id = 1 AND type = 'request' AND key = 'request'"),
            kMany);
  const nlohmann::json served = query("a.xsp", kServed);
  ASSERT_EQ(served.size(), kMany);
  const auto time = [&](size_t i, const char* what) { return served[i][what].get<double>(); };
  const Service service = service_of(served);
  ASSERT_EQ(service.instances, 2u) << "an instance has not answered";
  ASSERT_GT(service.waits, 100u);
  EXPECT_LT(service.between_ns, service.run_ns / 2) << "an instance idles while requests wait";
  const double mean = mean_wait_ns(served, service, 2);
  const nlohmann::json queue = result("queue.mean");
  EXPECT_LE(queue["low"].get<double>(), mean) << queue;
  EXPECT_GE(queue["high"].get<double>(), mean) << queue;
  // Each was busy as long as its requests say, which is the offered load.
  double busy = 0;
  for (const char* metric : {"busy.instance_0", "busy.instance_1"}) {
    const double share = result(metric)["value"];
    EXPECT_GT(share, 0.5) << metric;
    EXPECT_LT(share, 1) << metric;
    busy += share;
  }
  double service_s = 0;
  for (size_t i = 0; i < kMany; ++i) service_s += (time(i, "ended") - time(i, "start")) / 1e9;
  const double seconds = (time(kMany - 1, "ended") - time(0, "arrival")) / 1e9;
  EXPECT_NEAR(busy, service_s / seconds, 0.1);
}

}  // namespace
}  // namespace xsp::integration
