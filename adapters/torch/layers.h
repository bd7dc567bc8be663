// The layers of a model: the operators that it calls, seen by torch's record-function observers.
//
// A layer is an outermost operator: what an operator calls in its turn is part of it (with
// `nested`, layers inside layers). Inferences of one model call the same operators in the same
// order, so the first few are studied (module path, shapes, memory), and once two in a row were
// equal, the n-th operator of an inference is known by n and its name: no input is looked at any
// more. An operator that is not the expected one is looked up by its place, and the next inference
// is studied again. Operators on other threads (prim::fork) are always studied.
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

  // The next runs are of other inputs.
  void forget();
  // `inputs`: the memory of the model's inputs.
  void begin_run(const Activations& inputs, bool is_package);
  void end_run();
  // Two runs in a row were equal: the next ones cost little.
  bool is_settled() const { return settled_; }
  // Called at the end of each outermost layer of settled runs, with its site; nullptr: nothing is.
  void on_end(std::function<void(uint32_t site)> call) { on_end_ = std::move(call); }
  // What layers of the same work have in common: type and shapes. The layer's name as well.
  std::string describe(uint32_t site, std::string* name) const;

 private:
  friend struct Observer;

  // The n-th operator of an inference.
  struct Step {
    std::string name;               // as torch calls the operator
    const char* address = nullptr;  // where torch keeps that name
    xsp_site site{};
  };
  struct Known {
    Facts facts;
    std::string name;
    std::string type;
    uint32_t site = 0;
    uint64_t run = 0;  // the last one in which it was executed
  };

  // The site of an operator at a place, in this run: not one that this run has had already.
  uint32_t site_of(const std::string& place, const char* type, const Facts& facts);
  // For an operator that was not expected.
  uint32_t stray_site(const std::string& place, const char* type);
  void settle();
  void study();
  bool is_as_before() const;

  const bool nested_;
  const Modules* const modules_;
  Memory* const memory_;
  bool settled_ = false;
  bool strayed_ = false;  // in this run an operator came that was not expected
  bool foreign_ = false;  // in this run operators came on other threads
  bool package_ = false;
  bool opaque_ = false;  // none of its layers can be told from another: one stands for all
  size_t next_ = 0;
  uint64_t run_ = 0;
  std::vector<Step> steps_;    // of the run before; settled: of every run
  std::vector<Step> studied_;  // of this run
  Activations activations_;
  std::map<std::string, std::vector<Known>> places_;  // their sites, in order of appearance
  std::function<void(uint32_t)> on_end_;
  xsp_site package_site_{};
  xsp_span package_span_{};
  std::mutex mutex_;  // of all that other threads reach
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_LAYERS_H_
