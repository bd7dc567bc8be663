// Request: turns the user's options into a request to measure a model.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CLI_REQUEST_H_
#define XSP_DESK_CLI_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "desk/experiment/experiment.h"
#include "desk/experiment/frameworks.h"
#include "shared/base/result.h"

namespace CLI {
class App;
}

namespace xsp::cli {

// The options of xsp profile, under the same names.
struct RequestOptions {
  std::string model;
  std::string framework;
  std::string device;  // empty: the best available
  std::string batch;
  std::string levels;    // empty: all levels of the device
  std::string counters;  // empty: the counters that cost little
  std::string output;
  double max_time_s = 0;  // 0: seconds_per_batch for each batch size
  int iterations = 0;     // the most of each run; 0: the limits' own
  double seconds_per_batch = 30;
  double width_percent = 1;
  double block_time_s = experiment::Limits{}.block_s;
  double timeout_s = 300;
  uint32_t threads = 0;
  uint64_t seed = 1;
  std::vector<std::string> inputs;
  std::vector<std::string> framework_options;
  bool cuda_graph = false;
  std::string replay = "auto";
  bool reuse = false;
  double price = 0;  // for an hour of the GPU, in any currency; 0: not given
  bool no_peaks = false;
  std::vector<std::string> tags;  // KEY=VALUE
  bool is_forced = false;         // the output may replace a file that xsp did not write
};

// Finds the model, the framework and the device, and plans the runs.
Result<experiment::Request> make_request(const RequestOptions& options,
                                         const experiment::Installation& installation,
                                         const std::atomic<int>& stop);

// Returns what the request's output will replace, as replaced_by() does.
Result<std::string> replaced_by(const RequestOptions& options, const experiment::Request& request);

// Adds the option --tag to a verb. `options` must outlive it.
void add_tags(CLI::App* verb, RequestOptions& options);

// Returns the command that the user gave, for the record.
std::string command_line();

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_REQUEST_H_
