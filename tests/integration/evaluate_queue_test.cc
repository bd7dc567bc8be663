// Tests xsp evaluate against queueing theory: requests that come at random to a model that takes a
// fixed time (M/D/1), on a real clock.
//
// The mean wait that Pollaczek and Khinchine give is a limit that a second of load does not reach
// at 95 %: serve_test.cc compares it with a million requests in simulated time. Here the wait
// follows from the arrivals that came and the service time that was measured, by D. V. Lindley's
// recursion ("The theory of queues with a single server", Proc. Camb. Phil. Soc. 48, 1952):
// W(n+1) = max(0, W(n) + S - (A(n+1) - A(n))). So a busy machine, which makes S longer, changes
// both sides.
#include <algorithm>

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

// Returns the mean time from the begin of one run to that of the next, where the next request was
// already waiting: the run, and all that the server does between two.
double service_ns(const nlohmann::json& served) {
  double sum = 0, count = 0;
  for (size_t i = 0; i + 1 < served.size(); ++i) {
    if (served[i + 1]["arrival"] >= served[i]["ended"]) continue;
    sum += served[i + 1]["start"].get<double>() - served[i]["start"].get<double>();
    ++count;
  }
  return sum / count;
}

TEST_F(QueueTest, TheWaitIsThatOfASingleServerAtHalfAndAtNearlyFullLoad) {
  load({"--scenario", "offline", "--requests", "300"});
  const double capacity = result("rate")["value"];
  double before_ns = 0;
  for (const double busy : {0.5, 0.8, 0.95}) {
    load({"--scenario", "server", "--requests", "1500", "--rate", std::to_string(busy * capacity)});
    const nlohmann::json served = query("a.xsp", kServed);
    ASSERT_EQ(served.size(), 1500u);
    const double service = service_ns(served);
    double wait = 0, sum = 0;
    for (size_t i = 1; i < served.size(); ++i) {
      const double gap =
          served[i]["arrival"].get<double>() - served[i - 1]["arrival"].get<double>();
      wait = std::max(0.0, wait + service - gap);
      sum += wait;
    }
    const double mean = sum / static_cast<double>(served.size());
    const nlohmann::json queue = result("queue.mean");
    EXPECT_LE(queue["low"].get<double>(), mean) << busy << ": " << queue;
    EXPECT_GE(queue["high"].get<double>(), mean) << busy << ": " << queue;
    EXPECT_GT(mean, before_ns) << "a higher load does not wait longer";
    before_ns = mean;
  }
}

}  // namespace
}  // namespace xsp::integration
