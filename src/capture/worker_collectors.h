// The collectors that a worker runs: loaded before the model is opened, called around each
// inference.
#ifndef XSP_CAPTURE_WORKER_COLLECTORS_H_
#define XSP_CAPTURE_WORKER_COLLECTORS_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/worker_options.h"
#include "xsp/plugin.h"

namespace xsp::capture {

class Collectors {
 public:
  // What a collector says of itself; the text stays valid as long as the process.
  struct Description {
    xsp_collector collector{};  // whole: what its library does not know is zero
    std::string counters;       // comma separated
    std::string absent;         // why others cannot be counted
  };
  // Loads the library. What it does not know of xsp_collector is zero.
  static Result<xsp_collector> find(const std::string& path);
  // Does it watch runs on that device?
  static bool watches(const xsp_collector& collector, std::string_view device);
  // Loads the library and probes it. `why` is where host->fail leaves its text.
  static Result<Description> load(const std::string& path, const xsp_host* host,
                                  const std::string& why);

  // Probes those that watch the host, before the framework's library is loaded: it may look then
  // for a place that they take. What they say is asked again when they are started.
  static void take_places(const WorkerOptions& options, const xsp_host* host);
  // Starts those of the options that emit one of their levels, or count one of their counters; each
  // counter is counted by the first that can.
  Status start(const WorkerOptions& options, const xsp_host* host, const std::string& why);

  bool empty() const { return running_.empty(); }
  // How many inferences count everything once.
  uint64_t runs_needed() const;
  // Around each inference. `is_warmup`: those that count single spans are left out.
  void begin(bool is_warmup) const {
    for (const xsp_collector& collector : running_) {
      if (is_called(collector, is_warmup) && collector.begin != nullptr) collector.begin();
    }
  }
  // In the opposite order, so that the intervals nest.
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
};

using Send = std::function<void(const std::vector<std::string>& fields)>;

// The worker's life without a model: --probe, --names and --watch of options.collectors[0]. An
// Error ends it; `commands` are those of --watch.
Status serve_collector(const WorkerOptions& options, const xsp_host* host, const std::string& why,
                       const Send& send, std::istream& commands);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_COLLECTORS_H_
