// Listener: who is told how an experiment proceeds.
#ifndef XSP_EVALUATE_LISTENER_H_
#define XSP_EVALUATE_LISTENER_H_

#include <optional>
#include <string>
#include <vector>

#include "statistics/typical.h"

namespace xsp::evaluate {

// How far one run is.
struct RunProgress {
  enum class State { kWaiting, kWarmingUp, kMeasuring, kSettled, kFailed };
  std::string levels;
  std::optional<int> batch;
  State state = State::kWaiting;
  bool is_current = false;          // its block is the one that runs now
  int iterations = 0;               // measured so far
  statistics::Estimate latency_ns;  // of those
};

struct Progress {
  std::vector<RunProgress> runs;  // those that are interleaved now
  double elapsed_s = 0;           // of the time that they may take
  double bound_s = 0;
  double left_s = 0;  // an estimate, at most until the bound
};

// Called from the thread that runs the experiment, between blocks; what it takes is not measured.
class Listener {
 public:
  virtual ~Listener() = default;
  // What happens now, e.g. "opening resnet50 (model,layer)".
  virtual void step(const std::string& text) = 0;
  virtual void progress(const Progress& progress) = 0;
  // Worth knowing; and: makes the numbers doubtful, or costs a part of the experiment.
  virtual void note(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_LISTENER_H_
