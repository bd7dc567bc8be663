// Scenario: lets a model answer requests as they would come in practice, and writes an .xsp file.
//
// The run that records only the level model gives every figure that is quoted, and the verdict. The
// deeper runs of the request's plan get the same requests: they explain where the time goes.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_SCENARIO_SCENARIO_H_
#define XSP_DESK_SCENARIO_SCENARIO_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/experiment/experiment.h"
#include "desk/experiment/record.h"
#include "desk/scenario/generation.h"
#include "desk/scenario/latencies.h"
#include "shared/base/result.h"

namespace xsp::scenario {

// "99 % of the requests are answered within 10 ms"
struct Bound {
  double share = 0.99;
  double ns = 0;
};
// Parses "p99=10ms". Units are ns, us, ms and s.
Result<Bound> parse_bound(std::string_view text);
// Parses "2ms" to nanoseconds. `what` names it in errors.
Result<int64_t> parse_duration(std::string_view what, std::string_view text);

struct Scenario {
  std::string name;               // one of scenario_names()
  std::string generator = "xsp";  // of the requests: xsp, or MLPerf LoadGen: loadgen
  bool is_accuracy = false;       // loadgen: each item once, and its answer in a log
  double rate = 0;
  int64_t clients = 1;
  std::vector<int64_t> fewer_clients;  // generation: further loads, for the curve over clients
  int64_t requests = 1000;
  int64_t instances = 1;  // of the model, which answer from one queue
  int64_t max_batch = 1;
  int64_t max_wait_ns = 0;
  uint64_t seed = 1;
  double time_s = 60;    // of one load; 0: no limit
  std::string arrivals;  // file of a replay
  // A generation has numbers of tokens, "128" or "64..256", or a file of recorded lengths.
  std::string prompt_tokens = "128", output_tokens = "32", lengths;
  std::optional<Bound> bound;
  // Files that the requests bring, one after the other, for a worker with a pipeline. Empty: the
  // inputs are made up.
  std::vector<std::string> items;
  bool keeps_file = true;  // false: nobody sees the .xsp file
  bool explains = true;    // false: only the run of the level model
};
inline constexpr const char* kLoadgen = "loadgen";
// Begins the metric of an instance's busy share; its number follows.
inline constexpr const char* kBusy = "busy.instance_";
// Returns the names of the scenarios.
std::vector<std::string> scenario_names();
// Returns the lengths of a generation's requests.
Result<std::vector<TokenCounts>> token_counts_of(const Scenario& scenario);
// Fails if the settings do not suit the scenario.
Status check(const Scenario& scenario);

// The answers of one load.
struct Load {
  double rate = 0;  // offered requests per second; 0: as fast as they are answered
  int64_t abandoned = 0;
  double seconds = 0;
  bool is_interrupted = false;  // by the user; the answers are those until then
  std::vector<Answer> answers;
  std::string outputs;  // the file of the answers to the items (process/worker/pipeline_file.h)
  std::string loadgen;  // the folder of LoadGen's logs
  std::vector<Generated> generated;  // of a generation
};
// Looks at a load whose files are still there, and returns further rows of `result`. It may be a
// load that the user interrupted.
using Look = std::function<Result<std::vector<experiment::ResultRow>>(const Load&)>;
// Returns whether the load stayed within the bound: all requests were answered in time.
bool is_within(const Load& load, const Bound& bound);

struct Outcome {
  experiment::Outcome experiment;
  std::vector<experiment::ResultRow> results;
  std::string verdict;
  std::string loadgen;     // LoadGen's verdict
  std::string incomplete;  // how far an interrupted load came; empty: to its end
  bool is_met = true;      // false: the bound is missed
};

// Carries out the scenario with the model of the request. Its plan has a run of the level model,
// deeper ones, and no counters. `look` sees the load that gives the figures.
Result<Outcome> run_scenario(const Scenario& scenario, const experiment::Request& request,
                             experiment::Listener& listener, const std::atomic<int>& stop,
                             const Look& look = {});

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_SCENARIO_H_
