// Monitor: one collector watches one device in its own process, so that the measured processes stay
// as bare as in normal use.
//
// Thread rule: one thread.
#ifndef XSP_DESK_EXPERIMENT_MONITOR_H_
#define XSP_DESK_EXPERIMENT_MONITOR_H_

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "desk/experiment/process.h"
#include "desk/machine/machine.h"
#include "desk/machine/peaks.h"
#include "shared/base/result.h"

namespace xsp::experiment {

class Monitor {
 public:
  // Starts the process and waits for the collector's description of the device ("cuda:0").
  static Result<std::unique_ptr<Monitor>> start(const std::filesystem::path& program,
                                                const std::filesystem::path& collector,
                                                const std::string& device,
                                                const std::atomic<int>& stop);

  const std::map<std::string, std::string>& facts() const { return facts_; }
  // Returns the ceilings known so far: those from the device's attributes and, after measure(), the
  // measured ones.
  const std::vector<machine::Peak>& peaks() const { return peaks_; }
  // Tell whether the collector reports the state, and whether it can measure ceilings.
  bool has_state() const { return has_state_; }
  bool can_measure() const { return can_measure_; }
  // Returns the state, or an empty one if the collector does not report it or has failed.
  machine::DeviceState state();
  // Measures the device's ceilings, if the collector can. No other program should use the device
  // meanwhile.
  Status measure();
  // Returns its notes since the last call.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  Monitor(std::string device, const std::atomic<int>& stop)
      : device_(std::move(device)), stop_(stop) {}
  // Returns the fields of the reply that begins with `wanted`. Keeps facts, peaks and notes that
  // arrive before it.
  Result<std::vector<std::string>> reply(const std::string& wanted, double limit_s);
  Result<std::vector<std::string>> ask(const std::string& command, const std::string& wanted,
                                       double limit_s);

  std::string device_;
  const std::atomic<int>& stop_;
  std::unique_ptr<Process> process_;
  bool has_state_ = false;
  bool can_measure_ = false;
  std::map<std::string, std::string> facts_;
  std::vector<machine::Peak> peaks_;
  std::vector<std::string> notes_;
};

// All monitors of one device. A monitor's failure, or missing ability, becomes a note.
class Monitors {
 public:
  Monitors(std::string device, const std::atomic<int>& stop)
      : device_(std::move(device)), stop_(stop) {}
  void start(const std::filesystem::path& program,
             const std::vector<std::filesystem::path>& collectors);

  bool empty() const { return monitors_.empty(); }
  std::map<std::string, std::string> facts() const;
  std::vector<machine::Peak> peaks() const;
  // Returns the state from the first monitor that reports it.
  machine::DeviceState state();
  void measure();
  std::vector<std::string> take_notes();

 private:
  std::string device_;
  const std::atomic<int>& stop_;
  std::vector<std::unique_ptr<Monitor>> monitors_;
  std::vector<std::string> notes_;
};

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_MONITOR_H_
