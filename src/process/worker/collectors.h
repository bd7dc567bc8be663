// The collectors that a worker runs. They are loaded before the model is opened, and called around
// each inference.
#ifndef XSP_PROCESS_WORKER_COLLECTORS_H_
#define XSP_PROCESS_WORKER_COLLECTORS_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "process/worker/options.h"
#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

class Collectors {
 public:
  // The description that a collector gives of itself; its texts stay valid as long as the process.
  struct Description {
    xsp_collector collector{};  // complete: members that its library does not know are zero
    std::string counters;       // comma separated
    std::string absent;         // reason why others cannot be counted
  };
  // Loads the library. Members of xsp_collector that it does not know are zero.
  static Result<xsp_collector> find(const std::string& path);
  // Returns whether it watches runs on that device.
  static bool watches(const xsp_collector& collector, std::string_view device);
  // Loads the library and probes it. `why` is the text that host->fail sets.
  static Result<Description> load(const std::string& path, const xsp_host* host,
                                  const std::string& why);

  // Probes the collectors that watch the host, before the framework's library is loaded: only then
  // do they take a place for which that library looks. Their answers are asked again when they are
  // started.
  static void take_places(const WorkerOptions& options, const xsp_host* host);
  // Starts the collectors of the options that emit one of their levels or count one of their
  // counters. The first collector that can count a counter does so.
  Status start(const WorkerOptions& options, const xsp_host* host, const std::string& why);

  bool empty() const { return running_.empty(); }
  // Returns whether one counts counters of single spans (XSP_COUNTS_SPANS).
  bool counts_spans() const { return counts_spans_; }
  // Returns the number of inferences that count everything once.
  uint64_t runs_needed() const;
  // Runs around each inference. With `is_warmup`, collectors that count single spans are left out.
  void begin(bool is_warmup) const {
    for (const xsp_collector& collector : running_) {
      if (is_called(collector, is_warmup) && collector.begin != nullptr) collector.begin();
    }
  }
  // The collectors end in the opposite order, so that the intervals nest.
  void end(xsp_span* span, bool is_warmup) const {
    for (size_t i = running_.size(); i-- > 0;) {
      const xsp_collector& collector = running_[i];
      if (is_called(collector, is_warmup) && collector.end != nullptr) collector.end(span);
    }
  }
  void stop();

 private:
  static bool is_called(const xsp_collector& collector, bool is_warmup) {
    return !is_warmup || collector.counting != XSP_COUNTS_SPANS;
  }
  Status start_one(const std::string& path, const WorkerOptions& options, const xsp_host* host,
                   const std::string& why, std::vector<std::string>* missing, std::string* absent);

  std::vector<xsp_collector> running_;
  bool counts_spans_ = false;
};

using Send = std::function<void(const std::vector<std::string>& fields)>;

// Runs the worker without a model: --probe, --names and --watch of options.collectors[0]. An Error
// ends it; `commands` has the commands of --watch.
Status serve_collector(const WorkerOptions& options, const xsp_host* host, const std::string& why,
                       const Send& send, std::istream& commands);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_COLLECTORS_H_
