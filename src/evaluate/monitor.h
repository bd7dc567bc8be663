// Monitor: one device, watched by one collector in a process of its own, so that the processes that
// are measured stay as bare as users run them.
//
// Thread rule: one thread.
#ifndef XSP_EVALUATE_MONITOR_H_
#define XSP_EVALUATE_MONITOR_H_

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "evaluate/machine.h"
#include "evaluate/peaks.h"
#include "evaluate/process.h"

namespace xsp::evaluate {

class Monitor {
 public:
  // Starts the process and waits for what the collector says of the device ("cuda:0").
  static Result<std::unique_ptr<Monitor>> start(const std::filesystem::path& program,
                                                const std::filesystem::path& collector,
                                                const std::string& device,
                                                const std::atomic<int>& stop);

  const std::map<std::string, std::string>& facts() const { return facts_; }
  // Ceilings known so far: those of attributes, and after measure() those that it found.
  const std::vector<Peak>& peaks() const { return peaks_; }
  // Does the collector tell the state? Can it measure ceilings?
  bool has_state() const { return has_state_; }
  bool can_measure() const { return can_measure_; }
  // Nothing where the collector does not tell, and after a failure.
  DeviceState state();
  // Measures the device's ceilings, if the collector can. Nobody else should use it meanwhile.
  Status measure();
  // What it said that is worth knowing, since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  Monitor(std::string device, const std::atomic<int>& stop)
      : device_(std::move(device)), stop_(stop) {}
  // The fields of the reply that begins with `wanted`; facts, peaks and notes on the way are kept.
  Result<std::vector<std::string>> reply(const std::string& wanted, double limit_s);
  Result<std::vector<std::string>> ask(const std::string& command, const std::string& wanted,
                                       double limit_s);

  std::string device_;
  const std::atomic<int>& stop_;
  std::unique_ptr<Process> process_;
  bool has_state_ = false;
  bool can_measure_ = false;
  std::map<std::string, std::string> facts_;
  std::vector<Peak> peaks_;
  std::vector<std::string> notes_;
};

// All that watch one device. What one of them cannot do, or fails at, is told as a note.
class Monitors {
 public:
  Monitors(std::string device, const std::atomic<int>& stop)
      : device_(std::move(device)), stop_(stop) {}
  void start(const std::filesystem::path& program,
             const std::vector<std::filesystem::path>& collectors);

  bool empty() const { return monitors_.empty(); }
  std::map<std::string, std::string> facts() const;
  std::vector<Peak> peaks() const;
  // From the first that tells it.
  DeviceState state();
  void measure();
  std::vector<std::string> take_notes();

 private:
  std::string device_;
  const std::atomic<int>& stop_;
  std::vector<std::unique_ptr<Monitor>> monitors_;
  std::vector<std::string> notes_;
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_MONITOR_H_
