// One run with counters: it keeps the requested counters and the results, and assigns inferences to
// passes.
//
// Thread rule: one thread; launches may come from any.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_SESSION_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectors/cupti/counting_api.h"
#include "collectors/cupti/counting_chip.h"
#include "collectors/cupti/counting_emit.h"
#include "collectors/cupti/counting_formulae.h"
#include "collectors/cupti/counting_launches.h"
#include "collectors/cupti/counting_ranges.h"
#include "collectors/cupti/names.h"
#include "xsp/plugin.hpp"

namespace xsp::cupti {

struct CountingOptions {
  uint32_t levels = 0;
  std::vector<std::string> counters;
  uint32_t replay = XSP_REPLAY_AUTO;
  bool reuse = false;
};

class CountingSession {
 public:
  using Note = std::function<void(const std::string&)>;

  // Plans the counters for the chip, and watches launches from here on. Returns null and a line in
  // *why if that is not possible.
  static std::unique_ptr<CountingSession> open(const CountingApi& api, const std::string& chip_name,
                                               const CountingOptions& options, KernelSites* sites,
                                               Note note, std::string* why);

  // Returns the number of inferences that count everything once. Decides how the passes are taken,
  // unless the caller has chosen. Must be called when the model is in memory.
  uint64_t runs_needed();
  // Brackets an inference, with end.
  void begin();
  // `model` is the inference's span.
  void end(xsp_span* model);
  // Emits the rest: inferences whose passes are not complete.
  void finish();

 private:
  // Holds the counts of one kernel.
  struct Known {
    std::vector<double> values;
    double duration_ns = 0;
  };
  // Holds the state of counting on one context.
  struct Device {
    std::unique_ptr<Ranges> ranges;
    size_t capacity = 0;
    bool is_running = false;
  };

  CountingSession(const CountingApi& api, const CountingOptions& options, KernelSites* sites,
                  Note note);
  bool plan(const std::string& chip_name, std::string* why);
  void say_what_it_takes();
  bool fits_kernel_replay() const;
  bool start_context(CUcontext context, size_t capacity, std::string* why);
  bool stop_contexts(std::string* why);
  bool is_complete() const;
  void emit_counted();
  void emit_reused();
  void emit_uncounted(const char* cause);
  // Reads the ranges of one context and assigns them to its launches in every pass.
  bool read_context(CUcontext context, const Device& device, std::string* why);
  uint64_t graphs_among(const std::vector<Launch>& launches) const;
  // From here on inferences are counted as a whole.
  void count_whole();
  // Attaches the counts of whole inferences to the span of the last one.
  void emit_whole(xsp_span* model);
  void give_up(const std::string& why);
  void say_once(const std::string& text);

  const CountingApi& api_;
  const CountingOptions options_;
  const Note note_;
  std::unique_ptr<Chip> chip_;
  CounterPlan plan_;
  size_t duration_metric_ = 0;  // index into plan_.metrics
  std::vector<uint8_t> config_;
  Launches launches_;
  std::unique_ptr<CountingEmitter> emitter_;
  KernelSites* sites_;
  bool is_decided_ = false;
  Replay replay_ = Replay::kKernel;
  Scope scope_ = Scope::kEachKernel;
  bool is_counting_ = false;  // between begin and end
  bool has_failed_ = false;
  size_t launches_max_ = 0;  // largest number in an inference, or before the first
  std::map<CUcontext, Device> devices_;
  std::vector<std::vector<Launch>> passes_;        // launches of inferences not yet emitted
  std::map<const Launch*, const Known*> counted_;  // keys: launches of passes_
  std::vector<std::unique_ptr<Known>> results_;    // the results that counted_ points to
  std::map<uint32_t, Known> known_;                // by kernel, for reuse
  std::vector<std::string> said_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_SESSION_H_
