// The queue before several instances, in simulated time, against queueing theory.
#include "process/load/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <set>
#include <vector>

#include "process/load/sources.h"

namespace xsp::process {
namespace {

struct Simulated {
  uint64_t id = 0;
  int64_t arrival_ns = 0;
  int64_t free_ns = 0;
  int64_t formed_ns = 0;
  int64_t done_ns = 0;
};

// Lets instances that take `run_ns` for any batch answer a load.
std::vector<Simulated> answers_of(const LoadSettings& settings, int64_t run_ns) {
  const std::unique_ptr<Source> source = make_source(settings, 0);
  Queue queue(settings, 0, *source);
  std::vector<Simulated> answers;
  std::deque<std::pair<int64_t, Batch>> running;  // all take equally long: the first ends first
  int64_t now_ns = 0;
  while (!running.empty() || !queue.has_ended()) {
    while (!running.empty() && running.front().first <= now_ns) {
      queue.answered(running.front().second, {}, running.front().first);
      running.pop_front();
    }
    while (auto batch = queue.form(now_ns)) {
      for (const LoadRequest& request : batch->requests) {
        answers.push_back({request.id, request.arrival_ns,
                           std::max(request.arrival_ns, batch->free_ns), now_ns, now_ns + run_ns});
      }
      running.emplace_back(now_ns + run_ns, std::move(*batch));
    }
    int64_t next_ns = queue.next_ns() > now_ns ? queue.next_ns() : kNever;
    if (!running.empty()) next_ns = std::min(next_ns, running.front().first);
    now_ns = next_ns;
  }
  return answers;
}

LoadSettings poisson(double rate, uint64_t requests, uint64_t instances) {
  LoadSettings settings;
  settings.generator = Generator::kServer;
  settings.rate = rate;
  settings.requests = requests;
  settings.instances = instances;
  settings.seed = 11;
  return settings;
}

// Returns the mean wait of M/D/c in units of the service time, by C. D. Crommelin ("Delay
// probability formulae when the holding times are constant", Post Office Electr. Eng. J. 25, 1932).
// All that are served at a moment have left one service time later, and all that are there then
// have waited or have come meanwhile: p_j(t + D) = sum over i of p_i(t) a_(j - max(0, i - c)), with
// the Poisson probabilities a_k of k arrivals. The wait is that of the mean queue, by Little's law.
double wait_of_mdc(double load, size_t c) {
  constexpr size_t kStates = 400;
  const double mean = load * static_cast<double>(c);
  std::vector<double> arrivals(kStates);
  for (size_t k = 0; k < kStates; ++k) {
    arrivals[k] = std::exp(static_cast<double>(k) * std::log(mean) - mean -
                           std::lgamma(static_cast<double>(k) + 1));
  }
  std::vector<double> states(kStates, 0);
  states[0] = 1;
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> next(kStates, 0);
    for (size_t i = 0; i < kStates; ++i) {
      const size_t left = i > c ? i - c : 0;
      for (size_t k = 0; left + k < kStates && (k < 60); ++k) {
        next[left + k] += states[i] * arrivals[k];
      }
    }
    const double change =
        std::inner_product(next.begin(), next.end(), states.begin(), 0.0, std::plus<>(),
                           [](double a, double b) { return std::abs(a - b); });
    states = std::move(next);
    if (change < 1e-12) break;
  }
  double waiting = 0;
  for (size_t i = c; i < kStates; ++i) waiting += static_cast<double>(i - c) * states[i];
  return waiting / mean;
}

TEST(Queue, TheTheoryOfOneInstanceIsThatOfPollaczekAndKhinchine) {
  for (const double load : {0.5, 0.8, 0.95}) {
    EXPECT_NEAR(wait_of_mdc(load, 1), load / (2 * (1 - load)), 1e-3 / (1 - load)) << load;
  }
}

// The interval comes from the means of parts of consecutive requests, whose waiting times are far
// from independent.
TEST(Queue, WaitsAsLongAsTheoryOfMDcSays) {
  constexpr int64_t kRunNs = 1'000'000;
  constexpr size_t kParts = 20;
  constexpr double kStudent = 2.093;  // 19 degrees of freedom
  for (const size_t instances : {2, 4}) {
    for (const double load : {0.5, 0.8, 0.95}) {
      const auto answers = answers_of(
          poisson(load * 1e9 / kRunNs * static_cast<double>(instances), 1'000'000, instances),
          kRunNs);
      std::vector<double> means(kParts, 0);
      const size_t part = answers.size() / kParts;
      for (size_t i = 0; i < part * kParts; ++i) {
        means[i / part] += static_cast<double>(answers[i].formed_ns - answers[i].arrival_ns) /
                           static_cast<double>(part);
      }
      const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kParts;
      double squares = 0;
      for (const double m : means) squares += (m - mean) * (m - mean);
      const double half = kStudent * std::sqrt(squares / (kParts * (kParts - 1)));
      const double theory = wait_of_mdc(load, instances) * kRunNs;
      EXPECT_LT(std::abs(mean - theory), half) << instances << " instances at " << load << ": "
                                               << mean << " ± " << half << ", theory " << theory;
      EXPECT_LT(half, 0.1 * theory) << instances << " at " << load << ": too wide";
    }
  }
}

TEST(Queue, SeveralInstancesAnswerEachRequestOnce) {
  LoadSettings settings = poisson(2500, 10'000, 3);
  settings.max_batch = 4;
  settings.max_wait_ns = 300'000;
  std::set<uint64_t> seen;
  for (const Simulated& one : answers_of(settings, 1'000'000)) {
    EXPECT_TRUE(seen.insert(one.id).second) << one.id;
    EXPECT_LE(one.arrival_ns, one.free_ns);
    EXPECT_LE(one.free_ns, one.formed_ns);
    EXPECT_LE(one.formed_ns - one.free_ns, settings.max_wait_ns);
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

// With one of two instances busy, its answer may bring the request for which a batch waits.
TEST(Queue, AClosedLoopWaitsForCompanionsWhileAnotherInstanceIsBusy) {
  LoadSettings settings;
  settings.clients = 3;
  settings.requests = 6;
  settings.instances = 2;
  settings.max_batch = 2;
  settings.max_wait_ns = 10'000;
  const auto answers = answers_of(settings, 1000);
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_EQ(answers[0].formed_ns, 0);
  EXPECT_EQ(answers[1].formed_ns, 0);
  EXPECT_EQ(answers[2].formed_ns, 1000);  // the third client's, with one that the answers brought
  EXPECT_EQ(answers[3].formed_ns, 1000);
}

}  // namespace
}  // namespace xsp::process
