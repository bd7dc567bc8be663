// The worker's parsed command line (see protocol.h).
#ifndef XSP_PROCESS_WORKER_OPTIONS_H_
#define XSP_PROCESS_WORKER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

// --input name=shape[:dtype], --input name=@file.npy or --input name==value
inline constexpr int64_t kBatchDimension = -1;

struct InputOption {
  std::string name;
  std::string file;   // empty: the values are made up
  std::string value;  // value of every element; empty: not given; it excludes all others
  std::vector<int64_t> dimensions;  // unless there is a file; kBatchDimension: the batch
  uint32_t dtype = 0;               // xsp_dtype; 0: the model's
};

struct WorkerOptions {
  std::string adapter;
  std::vector<std::string> collectors;  // files
  std::vector<std::string> counters;
  bool probe = false;
  bool names = false;
  bool watch = false;
  uint32_t replay = XSP_REPLAY_AUTO;  // xsp_replay
  bool reuse = false;
  std::string model;
  std::string device = "cpu";
  uint32_t levels = 0;  // bits
  std::string trace;
  std::string scratch;
  std::string pipeline;  // file of the steps; empty: none
  std::optional<int64_t> batch;
  uint32_t threads = 0;  // 0: the framework's default
  uint64_t seed = 1;
  std::vector<InputOption> inputs;
  std::vector<std::pair<std::string, std::string>> options;  // for the framework
};

Result<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments);
Result<InputOption> parse_input_option(std::string_view text);
// Returns the user's shapes as xsp_open_options has them: a line for each input that has one.
std::string given_shapes(const std::vector<InputOption>& inputs);
// Returns the type with this name, e.g. "float32"; 0 if there is none.
uint32_t dtype_of_name(std::string_view name);
// Returns a text for messages, such as "[1,3,224,224]".
std::string shape_text(const int64_t* dimensions, size_t rank);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_OPTIONS_H_
