#include "adapters/torch/layers.h"

#include <ATen/record_function.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "xsp/plugin.hpp"

namespace xsp::torch_adapter {
namespace {

constexpr size_t kDepthMax = 64;  // depth of layers within layers; deeper ones are part of those

// Describes a layer that is being studied. Its span gets its site when it ends, because the site
// depends on its results.
struct Studied {
  Layers* layers = nullptr;  // nullptr if there is none
  size_t step = 0;           // in the run's order; meaningless on other threads
  std::string place;
  std::string type;
  const char* address = nullptr;
  Facts facts;
  std::set<const void*> weights;  // memory that it reads
  int64_t start_ns = 0;
  int64_t held_bytes = 0;
};

struct Open {
  xsp_span span;
  uint32_t site;
  uint32_t instance;
};

struct Thread {
  Layers* layers = nullptr;  // the layers of the run on this thread
  uint32_t depth = 0;        // depth of operators
  uint32_t open_count = 0;
  std::array<Open, kDepthMax> open;
  uint32_t package_site = 0;
};

thread_local Thread thread;
thread_local std::vector<Studied> studied;
std::atomic<Layers*> active{nullptr};  // layers of the current run, for other threads
std::atomic<uint32_t> instances{0};

// Returns the short name in a path: "conv2d" for "aten::conv2d"; likewise for
// "kernels_.triton_poi_fused_add_0".
std::string short_name(const char* name) {
  const char* mark = std::strrchr(name, ':');
  if (mark == nullptr && std::strncmp(name, "kernels_.", 9) == 0) mark = name + 8;
  return valid_utf8(mark == nullptr ? name : mark + 1);
}

std::string place_of(const Modules* modules, const char* name) {
  const std::string path = valid_utf8(modules->path(called_modules()));
  return path.empty() ? short_name(name) : path + "/" + short_name(name);
}

// Kernels of AOTInductor packages have numbers, which are not part of their type.
std::string type_of(const char* name) {
  if (std::strstr(name, "::") != nullptr) return valid_utf8(name);
  std::string type = short_name(name);
  const size_t last = type.find_last_not_of("0123456789");
  if (last != std::string::npos && last > 0 && type[last] == '_') type.resize(last);
  return type;
}

using Values = c10::ArrayRef<const c10::IValue>;

// From the interpreter, torch shows its whole stack: an operator's own values lie on top.
Values top_of(Values stack, size_t count) {
  return stack.slice(stack.size() - std::min(count, stack.size()));
}

// Returns true for a hook that tools/export_torch.py puts into a package within that of a library's
// call: its inputs are the results of the call.
bool is_results(const char* name) { return std::strcmp(name, "xsp_outputs") == 0; }

// AOTInductor's hooks report the names of a generated kernel's arguments, including the dummies in
// place of numbers: in_ptr0, in_out_ptr0, out_ptr1. The arguments that the kernel writes go to
// `written`; all but the pure outputs go to `read`. Returns false if there are no names.
bool split_by_name(const at::RecordFunction& function, Values all, std::vector<c10::IValue>* read,
                   std::vector<c10::IValue>* written) {
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 208
  const auto arguments = function.kwinputs();
  const auto names = arguments.find("Input Args");
  if (names == arguments.end() || !names->second.isList()) return false;
  const auto list = names->second.toListRef();
  if (list.size() != all.size()) return false;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = list[i].isString() ? list[i].toStringRef() : "";
    const bool is_written = name.rfind("out_ptr", 0) == 0;
    if (is_written || name.rfind("in_out_ptr", 0) == 0) written->push_back(all[i]);
    if (!is_written) read->push_back(all[i]);
  }
  return true;
#else
  (void)function, (void)all, (void)read, (void)written;
  return false;
#endif
}

// Returns whether the name comes from the hooks that AOTInductor compiles into a package on
// request.
bool is_hook(const std::string& name) {
  for (const char* prefix : {"kernels_.", "triton_", "aoti_torch_", "cpp_"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

}  // namespace

// Holds the callbacks, and the selection of those that torch calls.
struct Observer {
  using Context = std::unique_ptr<at::ObserverContext>;

  static bool is_ours(const at::RecordFunction& function) {
    return function.scope() == at::RecordScope::FUNCTION ||
           (thread.layers != nullptr && thread.layers->package_);
  }

  static Context start(const at::RecordFunction& function) {
    if (!is_ours(function)) return nullptr;
    begin(function);
    return nullptr;
  }
  static void end(const at::RecordFunction& function, at::ObserverContext*) {
    if (is_ours(function)) finish();
  }

  static void begin(const at::RecordFunction& function) {
    Thread& here = thread;
    const uint32_t depth = here.depth++;
    Layers* layers = here.layers;
    if (layers == nullptr || depth >= kDepthMax || (depth > 0 && !layers->nested_)) return;
    const char* name = function.name();
    if (depth > 0 && is_results(name)) return;
    const size_t next = layers->next_++;
    Open& open = here.open[depth];
    if (next < layers->steps_.size() &&
        (layers->steps_[next].address == name || layers->steps_[next].name == name)) {
      xsp_site& site = layers->steps_[next].site;
      open.span = xsp_begin(&site);
      open.site = site.id;
    } else {
      const std::string type = type_of(name);
      xsp_site site{nullptr, nullptr, XSP_LEVEL_LAYER,
                    layers->stray_site(place_of(layers->modules_, name), type.c_str())};
      open.span = xsp_begin(&site);
      open.site = site.id;
    }
    open.instance = instances.fetch_add(1, std::memory_order_relaxed) + 1;
    here.open_count = depth + 1;
  }
  static void finish() {
    Thread& here = thread;
    const uint32_t depth = --here.depth;
    if (here.open_count != depth + 1) return;
    here.open_count = depth;
    xsp_end(&here.open[depth].span);
    if (depth == 0 && here.layers->on_end_) here.layers->on_end_(here.open[0].site);
  }

  // The caller holds the mutex.
  static void take_arguments(const at::RecordFunction& function, Studied* one) {
    const Values all = top_of(function.inputs(), function.num_inputs());
    std::vector<c10::IValue> read, written;
    const auto of = [](const std::vector<c10::IValue>& list) {
      return Values(list.data(), list.size());
    };
    const bool are_named = one->layers->package_ && split_by_name(function, all, &read, &written);
    Activations& activations = one->layers->activations_;
    take_inputs(are_named ? of(read) : all, activations, &one->weights, &one->facts);
    if (are_named) take_outputs(of(written), one->weights, &activations, &one->facts);
  }

  static Context take_results(const at::RecordFunction& function, Studied* one) {
    if (one->layers == nullptr) return nullptr;
    const std::lock_guard<std::mutex> lock(one->layers->mutex_);
    take_outputs(top_of(function.inputs(), function.num_inputs()), one->weights,
                 &one->layers->activations_, &one->facts);
    return nullptr;
  }

  // These are called instead while a model is studied.
  static Context study_start(const at::RecordFunction& function) {
    Thread& here = thread;
    if (!is_ours(function)) return nullptr;
    if (here.layers != nullptr && here.layers->settled_) {
      begin(function);
      return nullptr;
    }
    const uint32_t depth = here.depth++;
    if (studied.size() <= depth) studied.resize(depth + 1);
    Studied& one = studied[depth];
    one.layers = here.layers;
    if (depth > 0 && is_results(function.name())) {
      one.layers = nullptr;
      return take_results(function, &studied[depth - 1]);
    }
    // On another thread, an operator that no interpreter calls is part of one that is open
    // elsewhere.
    if (one.layers == nullptr && is_interpreting()) one.layers = active.load();
    if (one.layers != nullptr && depth > 0 && !one.layers->nested_) one.layers = nullptr;
    if (one.layers == nullptr) return nullptr;
    one.address = function.name();
    one.place = place_of(one.layers->modules_, one.address);
    one.type = type_of(one.address);
    one.facts = {};
    one.weights.clear();
    {
      const std::lock_guard<std::mutex> lock(one.layers->mutex_);
      take_arguments(function, &one);
      if (here.layers != nullptr) {
        one.step = one.layers->studied_.size();
        one.layers->studied_.push_back({function.name(), one.address, {}});
      }
    }
    if (depth == 0) Memory::begin_layer();
    one.held_bytes = Memory::held();
    one.start_ns = xsp_now_ns();
    return nullptr;
  }
  static void study_end(const at::RecordFunction& function, at::ObserverContext*) {
    Thread& here = thread;
    if (!is_ours(function)) return;
    if (here.layers != nullptr && here.layers->settled_) return finish();
    const uint32_t depth = --here.depth;
    if (depth >= studied.size() || studied[depth].layers == nullptr) return;
    Studied& one = studied[depth];
    const std::vector<c10::IValue>& outputs = function.outputs();
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.start_ns = one.start_ns;
    span.duration_ns = xsp_now_ns() - one.start_ns;
    one.facts.allocated_bytes =
        static_cast<double>(std::max<int64_t>(Memory::held() - one.held_bytes, 0));
    {
      const std::lock_guard<std::mutex> lock(one.layers->mutex_);
      take_outputs(top_of(Values(outputs.data(), outputs.size()), function.num_outputs()),
                   one.weights, &one.layers->activations_, &one.facts);
      span.site_id = one.layers->site_of(one.place, one.type.c_str(), one.facts);
      if (here.layers != nullptr) {
        one.layers->studied_[one.step].site = {nullptr, nullptr, XSP_LEVEL_LAYER, span.site_id};
      } else {
        one.layers->foreign_ = true;
      }
    }
    one.layers = nullptr;
    xsp_emit(&span);
  }

  static xsp_layer_mark innermost() {
    const Thread& here = thread;
    if (here.open_count > 0) {
      const Open& open = here.open[here.open_count - 1];
      return {open.site, open.instance};
    }
    return {here.package_site, here.package_site == 0 ? 0 : instances.load()};
  }

  // Updates the number of open models, and of those that are being studied.
  static void change(int models_more, int studying_more) {
    static std::mutex mutex;
    static int models = 0, studying = 0;
    static bool studies = false;
    static at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
    const std::lock_guard<std::mutex> lock(mutex);
    models += models_more;
    studying += studying_more;
    if (handle != at::INVALID_CALLBACK_HANDLE) {
      if (models > 0 && studies == (studying > 0)) return;
      at::removeCallback(handle);
      handle = at::INVALID_CALLBACK_HANDLE;
    }
    if (models == 0) return xsp_offer_open_layer(nullptr);
    studies = studying > 0;
    auto callback = studies ? at::RecordFunctionCallback(study_start, study_end)
                            : at::RecordFunctionCallback(start, end);
    callback.needsInputs(studies).needsOutputs(studies);
    callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE});
    handle = at::addGlobalCallback(callback);
    xsp_offer_open_layer(innermost);
  }
};

Layers::Layers(bool nested, const Modules* modules, Memory* memory)
    : nested_(nested), modules_(modules), memory_(memory) {
  Observer::change(1, 1);
  memory_->count(true);
}

Layers::~Layers() { Observer::change(-1, settled_ ? 0 : -1); }

void Layers::forget() {
  steps_.clear();
  study();
}

void Layers::study() {
  if (!settled_) return;
  settled_ = false;
  memory_->count(true);
  Observer::change(0, 1);
}

void Layers::settle() {
  settled_ = true;
  memory_->count(false);
  Observer::change(0, -1);
  opaque_ = package_ && std::none_of(steps_.begin(), steps_.end(),
                                     [](const Step& step) { return is_hook(step.name); });
  if (!opaque_) return;
  const uint32_t id = xsp_intern_site(XSP_LEVEL_LAYER, "package", "aoti_package");
  package_site_ = {nullptr, nullptr, XSP_LEVEL_LAYER, id};
}

bool Layers::is_as_before() const {
  if (run_ < 2) return false;
  return std::equal(steps_.begin(), steps_.end(), studied_.begin(), studied_.end(),
                    [](const Step& before, const Step& now) {
                      return before.name == now.name && before.site.id == now.site.id;
                    });
}

uint32_t Layers::site_of(const std::string& place, const char* type, const Facts& facts) {
  std::vector<Known>& known = places_[place];
  for (Known& one : known) {
    if (one.run == run_ || !one.facts.has_same_shapes(facts)) continue;
    one.run = run_;
    if (one.facts.allocated_bytes != facts.allocated_bytes) {
      // In the first run, libraries took memory for themselves.
      one.facts.allocated_bytes = facts.allocated_bytes;
      xsp_site_counter(one.site, "allocated_bytes", facts.allocated_bytes);
    }
    return one.site;
  }
  const std::string name = known.empty() ? place : place + "#" + std::to_string(known.size() + 1);
  const uint32_t site = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), type);
  facts.describe(site);
  known.push_back({facts, name, type, site, run_});
  return site;
}

std::string Layers::describe(uint32_t site, std::string* name) const {
  for (const auto& [place, all] : places_) {
    for (const Known& one : all) {
      if (one.site != site) continue;
      *name = one.name;
      return one.type + " " + one.facts.input_shapes + one.facts.input_dtypes + " " +
             one.facts.output_shapes;
    }
  }
  *name = "";
  return "";
}

uint32_t Layers::stray_site(const std::string& place, const char* type) {
  strayed_ = true;
  const auto known = places_.find(place);
  if (known != places_.end()) return known->second.front().site;
  return xsp_intern_site(XSP_LEVEL_LAYER, place.c_str(), type);
}

void Layers::begin_run(const Activations& inputs, bool is_package) {
  package_ = is_package;
  ++run_;
  next_ = 0;
  strayed_ = foreign_ = false;
  if (!settled_) {
    studied_.clear();
    activations_ = inputs;
  }
  thread.layers = this;
  thread.depth = thread.open_count = 0;
  active.store(this);
  if (!opaque_) return;
  package_span_ = xsp_begin(&package_site_);
  thread.package_site = package_site_.id;
  instances.fetch_add(1, std::memory_order_relaxed);
}

void Layers::end_run() {
  active.store(nullptr);
  thread.layers = nullptr;
  if (opaque_) {
    thread.package_site = 0;
    xsp_end(&package_span_);
  }
  if (settled_) {
    if (strayed_ || next_ != steps_.size()) study();
    return;
  }
  const bool settles = !foreign_ && is_as_before();
  steps_.swap(studied_);
  if (settles) settle();
}

}  // namespace xsp::torch_adapter
