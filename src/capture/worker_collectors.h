// The collectors that a worker runs: loaded before the model is opened, called around each
// inference.
#ifndef XSP_CAPTURE_WORKER_COLLECTORS_H_
#define XSP_CAPTURE_WORKER_COLLECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "xsp/plugin.h"

namespace xsp::capture {

class Collectors {
 public:
  // What a collector says of itself; the text stays valid as long as the process.
  struct Description {
    const xsp_collector* collector = nullptr;
    std::string counters;  // comma separated
    std::string absent;    // why others cannot be counted
  };
  // Loads the library and probes it. `why` is where host->fail leaves its text.
  static Result<Description> load(const std::string& path, const xsp_host* host,
                                  const std::string& why);

  // Starts those of `paths` that emit one of the levels, or count one of the counters; each counter
  // is counted by the first that can.
  Status start(const std::vector<std::string>& paths, const std::vector<std::string>& counters,
               uint32_t levels, const xsp_host* host, const std::string& why);

  bool empty() const { return running_.empty(); }
  void begin() const {
    for (const xsp_collector* collector : running_) {
      if (collector->begin != nullptr) collector->begin();
    }
  }
  // In the opposite order, so that the intervals nest.
  void end(xsp_span* span) const {
    for (size_t i = running_.size(); i-- > 0;) {
      if (running_[i]->end != nullptr) running_[i]->end(span);
    }
  }
  void stop();

 private:
  std::vector<const xsp_collector*> running_;
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_COLLECTORS_H_
