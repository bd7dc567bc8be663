// The layers of a model: the operators that it calls, seen by torch's record-function observers.
//
// A layer is an outermost operator: the operators that it calls are part of it (with `nested`, they
// are layers inside layers). Inferences of one model call the same operators in the same order. So
// the first few are studied (module path, shapes, memory). Once two in a row were equal, the n-th
// operator of an inference is identified by n and its name, and its inputs are no longer examined.
// An unexpected operator is looked up by its place, and the next inference is studied again.
// Operators on other threads (prim::fork) are always studied.
//
// Refused: switching torch's observers off below an open layer (enableRecordFunction). Off and on
// again takes 443 ns, an observed operator below 58 ns (torch 2.11), and few layers have eight of
// them.
#ifndef XSP_ADAPTERS_TORCH_LAYERS_H_
#define XSP_ADAPTERS_TORCH_LAYERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/facts.h"
#include "adapters/torch/memory.h"
#include "adapters/torch/modules.h"
#include "xsp/plugin.h"

namespace xsp::torch_adapter {

class Layers {
 public:
  // Observes the runs of one model, from begin_run to end_run, on the thread that calls both.
  // `modules` and `memory` outlive it.
  Layers(bool nested, const Modules* modules, Memory* memory);
  ~Layers();
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  // Prepares for runs of other inputs.
  void forget();
  // `inputs` is the memory of the model's inputs.
  void begin_run(const Activations& inputs, bool is_package);
  void end_run();
  // Returns true after two equal runs in a row: the next ones cost little.
  bool is_settled() const { return settled_; }
  // Sets a function that is called at the end of each outermost layer of settled runs, with its
  // site; nullptr removes it.
  void on_end(std::function<void(uint32_t site)> call) { on_end_ = std::move(call); }
  // Returns the properties that layers of the same work share: type and shapes. *name receives the
  // layer's name.
  std::string describe(uint32_t site, std::string* name) const;

 private:
  friend struct Observer;

  // Describes the n-th operator of an inference.
  struct Step {
    std::string name;               // torch's name of the operator
    const char* address = nullptr;  // where torch keeps that name
    xsp_site site{};
  };
  struct Known {
    Facts facts;
    std::string name;
    std::string type;
    uint32_t site = 0;
    uint64_t run = 0;  // the last run in which it was executed
  };

  // Returns the site of an operator at a place in this run: one that this run has not used yet.
  uint32_t site_of(const std::string& place, const char* type, const Facts& facts);
  // Returns the site of an operator that was not expected.
  uint32_t stray_site(const std::string& place, const char* type);
  void settle();
  void study();
  bool is_as_before() const;

  const bool nested_;
  const Modules* const modules_;
  Memory* const memory_;
  bool settled_ = false;
  bool strayed_ = false;  // an unexpected operator came in this run
  bool foreign_ = false;  // operators came on other threads in this run
  bool package_ = false;
  bool opaque_ = false;  // its layers cannot be distinguished: one stands for all
  size_t next_ = 0;
  uint64_t run_ = 0;
  std::vector<Step> steps_;    // steps of the run before; once settled, of every run
  std::vector<Step> studied_;  // steps of this run
  Activations activations_;
  std::map<std::string, std::vector<Known>> places_;  // their sites, in the order of appearance
  std::function<void(uint32_t)> on_end_;
  xsp_site package_site_{};
  xsp_span package_span_{};
  std::mutex mutex_;  // guards everything that other threads reach
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_LAYERS_H_
