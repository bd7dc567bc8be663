// The settings of a load: which requests come, and how they are joined into batches. The file is
// described in process/worker/protocol.h.
#ifndef XSP_PROCESS_LOAD_SETTINGS_H_
#define XSP_PROCESS_LOAD_SETTINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::process {

inline constexpr uint64_t kRequestsMax = 10'000'000;  // limit of one load
inline constexpr uint64_t kBatchMax = 65536;
inline constexpr uint64_t kInstancesMax = 256;

enum class Generator { kClosed, kServer, kOffline, kReplay, kLoadgen };
enum class LoadgenScenario { kSingle, kMulti, kServer, kOffline };

// Only LoadGen reads these (kLoadgen), besides `requests`, `group`, `rate`, `time_ns` and `seed`.
struct LoadgenSettings {
  LoadgenScenario scenario = LoadgenScenario::kSingle;
  bool is_accuracy = false;     // each sample once, and its answer in the log
  uint64_t samples = 1;         // the items that there are
  int64_t latency_ns = 0;       // kServer: what this share of the latencies must keep
  double latency_share = 0.99;  // in (0, 1)
  std::string logs;             // folder
};

struct LoadSettings {
  Generator generator = Generator::kClosed;
  uint64_t clients = 1;           // kClosed: clients that each wait for their answer
  uint64_t group = 1;             // kClosed: requests that a client sends at once
  LoadgenSettings loadgen;        // kLoadgen
  double rate = 0;                // kServer: requests per second, on average
  std::vector<int64_t> arrivals;  // kReplay: nanoseconds from the begin, in order
  uint64_t requests = 0;          // the load ends after so many
  int64_t time_ns = 0;            // no request arrives later than this; 0: no limit
  uint64_t instances = 1;         // of the model, which answer from one queue
  uint64_t max_batch = 1;         // largest batch
  int64_t max_wait_ns = 0;        // longest time that a request waits for others to join it
  uint64_t seed = 1;              // of the arrival times
  bool records_requests = true;   // false: only the model has spans
  std::string answers;            // file that gets a line for each answered request
  std::string items;              // file with the path of an item in each line; empty: none
  std::string outputs;            // file that gets the answers to the items
  std::string lengths;            // file of the lengths of prompts and answers; empty: none
  std::string tokens;             // file that gets the times of the tokens
};

// Parses the text of a settings file. An error names the line.
Result<LoadSettings> parse_load_settings(std::string_view text);

// Parses a recorded arrival trace: the time of each arrival in seconds, one in a line, in order.
// Counts from the first arrival. Lines that begin with '#' are left out, and so is a first line
// without a number. `name` is the file's, for errors.
Result<std::vector<int64_t>> parse_arrivals(std::string_view text, const std::string& name);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_SETTINGS_H_
