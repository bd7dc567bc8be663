// Worker: one model, open at one set of levels, in its own process.
//
// A worker that crashes, exceeds its time limit or reports a failure is gone for good: the call
// returns an Error that says why, and every later call returns it again. Other workers are not
// affected.
//
// Thread rule: one thread.
#ifndef XSP_DESK_EXPERIMENT_WORKER_H_
#define XSP_DESK_EXPERIMENT_WORKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desk/experiment/process.h"
#include "desk/experiment/subject.h"
#include "shared/base/result.h"

namespace xsp::experiment {

struct WorkerLimits {
  double answer_s = 300;  // for one answer; a block of known length may take ten times that length
                          // instead
  double grace_s = 3;     // for an answer and for the end, once the user has asked to stop
};

// The option of a framework that captures the model as a CUDA graph: --cuda-graph.
inline constexpr const char* kCudaGraph = "cuda_graph";

struct WorkerOptions {
  std::filesystem::path program;  // xsp-worker
  std::filesystem::path adapter;  // NAME.so
  std::string model;
  // Returns the model's file for a batch size, where a file is of one; absent: `model` is of all.
  std::function<Result<std::string>(int)> model_of_batch;
  std::string device = "cpu";
  std::string levels = "model";
  std::filesystem::path trace;
  std::filesystem::path scratch;
  std::filesystem::path pipeline;  // file of the steps (process/worker/pipeline_file.h), or empty
  std::optional<int> batch;
  uint32_t threads = 0;  // 0: the framework's default
  uint64_t seed = 1;
  std::vector<std::string> inputs;                           // as --input takes them
  std::vector<std::pair<std::string, std::string>> options;  // options of the framework
  std::vector<std::string> counters;
  std::vector<std::filesystem::path> collectors;  // collectors that the levels and counters need
  std::string replay = "auto";                    // or "kernel", "application"
  bool reuse = false;                             // counters of a kernel may be copied from an
                                                  // equal kernel
  std::string rest;                               // Probe::rest
  // Takes the notes that come while the model is opened, as they come: a note may say why that
  // takes minutes. Absent: they are among take_notes().
  std::function<void(std::string)> take_note;
};

// An input or output of the model, as text.
struct TensorText {
  std::string name;
  std::string dtype;
  std::string dimensions;  // comma separated; -1: known only after a run
  std::string values;      // for an input: how they were made
};

// The worker's report when its model is open.
struct Ready {
  std::string framework;
  std::string framework_version;
  std::string device;
  std::optional<int> threads;  // nothing: the framework chose
  std::optional<int> batch;    // nothing: not known
  std::string batch_unknown;   // why the batch is not known
  int iterations_max = 0;      // iterations that can be recorded before layers are lost; 0: no
                               // limit
  int iterations_needed = 1;   // iterations that it takes to count every counter once
  std::vector<TensorText> inputs;
  std::vector<TensorText> outputs;
};

// The end of a load; the answered requests are in its file.
struct Loaded {
  int64_t answered = 0;
  int64_t abandoned = 0;  // requests that waited when the time was over
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int first_iteration = 0;
  int model_runs = 0;           // one for each batch, or one for each window of a request
  bool is_interrupted = false;  // the user asked to stop before it had ended
};
// Is called with the number of answered requests, the nanoseconds since the start, and the latency
// of the last batch's first request.
using OnLoad = std::function<void(int64_t answered, int64_t elapsed_ns, int64_t latency_ns)>;

// Returns the rest after a block on a device ("cpu", "cuda:0") before another process's block.
std::chrono::milliseconds rest_between_blocks(std::string_view device);

// Returns whether it is the worker's process that failed: it crashed, or did not answer. Otherwise
// the worker itself says what it cannot do.
bool is_of_process(const Error& failure);

class Worker : public Subject {
 public:
  // Starts the process and waits until the model is open. `stop` counts the user's requests to
  // stop: the first shortens every wait to the limits' grace period, the second to zero.
  static Result<std::unique_ptr<Worker>> start(const WorkerOptions& options, WorkerLimits limits,
                                               const std::atomic<int>& stop);

  const Ready& ready() const { return ready_; }
  Result<Block> run(int iterations, double expected_s) override;
  Result<Block> warm(int iterations, double expected_s) override;
  // Lets it answer the requests that a file of settings describes (process/worker/protocol.h). This
  // takes `expected_s` at most, unless it tells of progress; 0: it is not known. The limit for one
  // answer begins after that. Once the user has asked to stop, it ends early, with what was
  // answered.
  Result<Loaded> load(const std::filesystem::path& settings, double expected_s,
                      const OnLoad& on_load);
  // Makes inputs up by this seed, and saves them as .npy files. Returns the files in the model's
  // order.
  Result<std::vector<std::filesystem::path>> make_inputs(uint64_t seed,
                                                         const std::filesystem::path& folder);
  // Lets its pipeline make inputs of the items in a file's lines, which are one batch. Returns the
  // files of each set of inputs: there are several if an item has windows.
  Result<std::vector<std::vector<std::filesystem::path>>> make_inputs_of_items(
      const std::filesystem::path& items, const std::filesystem::path& folder);
  Status take_inputs(const std::vector<std::filesystem::path>& files);
  // Saves the last results likewise.
  Result<std::vector<std::filesystem::path>> save_results(const std::filesystem::path& folder);
  void place(unsigned first_processor) override;
  // Gives up after a tenth of a second, and notes it once.
  void settle() override;
  // Brings all layer spans into the trace and ends the process. The trace of a worker that does not
  // answer is incomplete, but still readable.
  Status finish();
  // Returns its notes since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  const Process& process() const { return *process_; }

 private:
  Result<Block> run_block(const char* command, int iterations, double expected_s);
  Worker(WorkerLimits limits, const std::atomic<int>& stop) : limits_(limits), stop_(stop) {}
  // `ends_early`: the first request to stop is passed on, because the worker can act on it.
  Result<std::vector<std::string>> answer(const std::string& wanted, double limit_s,
                                          bool ends_early = false);
  Result<std::vector<std::filesystem::path>> ask_files(const std::string& command,
                                                       const std::string& wanted,
                                                       const std::filesystem::path& folder);
  Result<std::vector<std::string>> ask(const std::string& command, const std::string& wanted,
                                       double limit_s, bool ends_early = false);
  Error fail(Error error);

  WorkerLimits limits_;
  const std::atomic<int>& stop_;
  std::unique_ptr<Process> process_;
  Ready ready_;
  std::vector<std::string> notes_;
  std::function<void(std::string)> take_note_;  // only while the model is opened
  OnLoad on_load_;
  std::optional<Error> failure_;
  std::string rest_;
  std::string device_;
  bool never_rests_ = false;
};

// An adapter's description of its framework.
struct Probe {
  std::string name;
  std::string version;
  std::string library;
  std::vector<std::string> devices;
  std::vector<std::string> formats;  // file name endings that it opens
  std::vector<std::string> pairs{};  // endings of models in two files: see model_files.h
  std::string rest{};                // option that lets its threads sleep between runs, or empty
};
// Asks an adapter, in its own process, whether its framework is available here.
Result<Probe> probe_adapter(const std::filesystem::path& program,
                            const std::filesystem::path& adapter, WorkerLimits limits,
                            const std::atomic<int>& stop);

// A collector's description of itself.
struct CollectorProbe {
  std::string name;
  std::vector<std::string> levels;    // levels that it can emit, if it can watch anything
  std::vector<std::string> counters;  // counters that it can count here
  std::string absent;                 // the other counters that it knows, and why they are absent
                                      // here; may be empty
  std::string device;                 // kind of device that it watches: "cuda"; empty: the host
  int counting = 0;                   // xsp_counting
  std::string unavailable;            // why it can watch nothing here; empty: it can
};
// Probes a collector for runs on that device. Returns an Error if the plugin is invalid.
Result<CollectorProbe> probe_collector(const std::filesystem::path& program,
                                       const std::filesystem::path& collector,
                                       const std::string& device, WorkerLimits limits,
                                       const std::atomic<int>& stop);
// Returns every counter that the collector knows by name, including those that its probe leaves
// out.
Result<std::vector<std::string>> counter_names(const std::filesystem::path& program,
                                               const std::filesystem::path& collector,
                                               WorkerLimits limits, const std::atomic<int>& stop);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_WORKER_H_
