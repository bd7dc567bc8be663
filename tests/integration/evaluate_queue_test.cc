// Tests xsp evaluate against queueing theory: requests that come at random to a model that takes a
// fixed time (M/D/1), on a real clock.
//
// The mean wait that Pollaczek and Khinchine give is a limit that a second of load does not reach
// at 95 %: serve_test.cc compares it with a million requests in simulated time. Here the wait
// follows from the arrivals that came and the service times that were measured, by D. V. Lindley's
// recursion ("The theory of queues with a single server", Proc. Camb. Phil. Soc. 48, 1952):
// W(n+1) = max(0, W(n) + S(n) - (A(n+1) - A(n))). So a busy machine, which makes some S(n) longer,
// changes both sides.
#include <algorithm>
#include <map>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

// The model's run of each request, with the request's arrival, in the order of the arrivals.
constexpr const char* kServed =
    "SELECT p.start_ns AS arrival, m.start_ns AS start, m.start_ns + m.duration_ns AS ended "
    "FROM span p JOIN span m ON m.run_id = p.run_id AND m.parent_id = p.span_id AND m.level = 2 "
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
  nlohmann::json result(const std::string& metric) const {
    return query("a.xsp", "SELECT value, low, high FROM result WHERE metric = '" + metric + "'")[0];
  }
};

// The time that the server was busy with each request, in the order of the arrivals. Where the next
// request was already waiting, this goes from the begin of the request's run to the begin of the
// next one, else it is the run and the median of what the server did between two runs.
struct Service {
  std::vector<double> busy_ns;
  double run_ns = 0;      // median
  double between_ns = 0;  // median
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Service service_of(const nlohmann::json& served) {
  Service service;
  std::vector<double> run, between;
  const auto waited = [&](size_t i) {
    return i + 1 < served.size() && served[i + 1]["arrival"] < served[i]["ended"];
  };
  const auto time = [&](size_t i, const char* what) { return served[i][what].get<double>(); };
  for (size_t i = 0; i < served.size(); ++i) {
    run.push_back(time(i, "ended") - time(i, "start"));
    if (waited(i)) between.push_back(time(i + 1, "start") - time(i, "ended"));
  }
  service.run_ns = median(run);
  service.between_ns = median(between);
  for (size_t i = 0; i < served.size(); ++i) {
    service.busy_ns.push_back(waited(i) ? time(i + 1, "start") - time(i, "start")
                                        : run[i] + service.between_ns);
  }
  return service;
}

TEST_F(QueueTest, TheWaitIsThatOfASingleServerAtHalfAndAtNearlyFullLoad) {
  load({"--scenario", "offline", "--requests", "300"});
  const double capacity = result("rate")["value"];
  for (const double busy : {0.5, 0.8, 0.95}) {
    load({"--scenario", "server", "--requests", "1500", "--rate", std::to_string(busy * capacity)});
    const nlohmann::json served = query("a.xsp", kServed);
    ASSERT_EQ(served.size(), 1500u);
    const Service service = service_of(served);
    EXPECT_LT(service.between_ns, service.run_ns / 2) << "the server idles while requests wait";
    double wait = 0, sum = 0;
    for (size_t i = 1; i < served.size(); ++i) {
      const double gap =
          served[i]["arrival"].get<double>() - served[i - 1]["arrival"].get<double>();
      wait = std::max(0.0, wait + service.busy_ns[i - 1] - gap);
      sum += wait;
    }
    const double mean = sum / static_cast<double>(served.size());
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
  constexpr size_t kRequests = 10'000;
  load({"--scenario", "offline", "--requests", "600", "--instances", "2"});
  const double capacity = result("rate")["value"];
  load({"--scenario", "server", "--requests", std::to_string(kRequests), "--instances", "2",
        "--rate", std::to_string(0.8 * capacity)});
  EXPECT_EQ(result("answered")["value"], kRequests);
  EXPECT_EQ(result("abandoned")["value"], 0);
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(DISTINCT value) FROM span JOIN attribute USING (run_id, span_id) "
                   "WHERE run_id = 1 AND type = 'request' AND key = 'request'"),
            kRequests);
  const nlohmann::json served = query(
      "a.xsp",
      "SELECT p.start_ns AS arrival, m.start_ns AS start, m.start_ns + m.duration_ns AS ended, "
      "i.value::INT AS instance FROM span p JOIN span m ON m.run_id = p.run_id AND "
      "m.parent_id = p.span_id AND m.level = 2 JOIN attribute i ON i.run_id = p.run_id AND "
      "i.span_id = p.span_id AND i.key = 'instance' "
      "WHERE p.run_id = 1 AND p.type = 'request' ORDER BY p.start_ns");
  ASSERT_EQ(served.size(), kRequests);
  const auto time = [&](size_t i, const char* what) { return served[i][what].get<double>(); };
  // The time that an instance spends between two runs while requests wait.
  std::vector<double> between;
  std::map<int, double> ended;
  for (size_t i = 0; i < kRequests; ++i) {
    const int instance = served[i]["instance"];
    if (ended.count(instance) > 0 && time(i, "arrival") < ended[instance]) {
      between.push_back(time(i, "start") - ended[instance]);
    }
    ended[instance] = time(i, "ended");
  }
  ASSERT_EQ(ended.size(), 2u) << "an instance has not answered";
  ASSERT_GT(between.size(), 100u);
  const double between_ns = median(between);
  double free_ns[2] = {0, 0}, sum = 0;
  for (size_t i = 0; i < kRequests; ++i) {
    double& first = free_ns[free_ns[1] < free_ns[0]];
    const double begin = std::max(time(i, "arrival"), first);
    sum += begin - time(i, "arrival");
    first = begin + time(i, "ended") - time(i, "start") + between_ns;
  }
  const double mean = sum / kRequests;
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
  for (size_t i = 0; i < kRequests; ++i) service_s += (time(i, "ended") - time(i, "start")) / 1e9;
  const double seconds = (time(kRequests - 1, "ended") - time(0, "arrival")) / 1e9;
  EXPECT_NEAR(busy, service_s / seconds, 0.1);
}

}  // namespace
}  // namespace xsp::integration
