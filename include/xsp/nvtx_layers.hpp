// nvtx_layers.hpp: layers as a framework launches them, by the ranges of NVTX that it opens around
// its work. A range contains the calls of CUDA of its layer, so that kernels can be assigned to it.
// While a framework makes a CUDA graph, it opens the ranges likewise, and the collector of kernels
// then knows the layer of each node.
//
// The ranges leave CUPTI to the collector, so all levels work together. An adapter specialises
// NvtxLayers with its framework's facts, and defines the function that NVTX calls:
//
//     struct Framework {
//       static bool is_domain(const char* name);  // its domain; not the others of the process
//       // The site of the layer that a range's text names; 0: the range is no layer.
//       static uint32_t site(void* layers, std::string_view text);
//     };
//     extern "C" XSP_API int InitializeInjectionNvtx2(xsp::nvtx_abi::GetExportTable get) {
//       return xsp::NvtxLayers<Framework>::initialise(get);
//     }
#ifndef XSP_NVTX_LAYERS_HPP_
#define XSP_NVTX_LAYERS_HPP_

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "xsp/nvtx_abi.hpp"
#include "xsp/plugin.h"

namespace xsp {

template <typename Framework>
class NvtxLayers {
 public:
  // Must be called before the framework's library is loaded. It names this library as NVTX's tool,
  // unless the environment names one. NVTX reads that once in a process.
  static void offer() {
    Dl_info here;
    if (dladdr(reinterpret_cast<const void*>(&offer), &here) == 0) return;
    setenv("NVTX_INJECTION64_PATH", here.dli_fname, 0);
  }
  // Returns whether the framework has loaded this tool, which happens with its first range.
  static bool is_taken() { return taken_.load(std::memory_order_relaxed); }

  // Between these calls, ranges that the calling thread opens are layers. `layers` goes to
  // Framework::site; null: nothing is recorded.
  static void begin(void* layers) {
    Thread& here = thread();
    here.layers = layers;
    here.id = static_cast<uint32_t>(gettid());
    here.depth = 0;
    if (layers != nullptr) xsp_offer_open_layer(innermost);
  }
  static void end() {
    if (thread().layers != nullptr) xsp_offer_open_layer(nullptr);
    thread().layers = nullptr;
  }

  // Returns 1 if it has set NVTX's functions.
  static int initialise(nvtx_abi::GetExportTable get) {
    if (get == nullptr) return 0;
    const auto* callbacks = static_cast<const nvtx_abi::Callbacks*>(get(nvtx_abi::kCallbacksTable));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(nvtx_abi::Callbacks)) return 0;
    nvtx_abi::Table table = nullptr;
    unsigned size = 0;
    if (callbacks->get_table(nvtx_abi::kModuleCore2, &table, &size) == 0 || table == nullptr) {
      return 0;
    }
    const auto set = [&](uint32_t id, auto* function) {
      if (id < size && table[id] != nullptr) {
        *table[id] = reinterpret_cast<nvtx_abi::Function>(function);
      }
    };
    set(nvtx_abi::kDomainCreateA, create);
    set(nvtx_abi::kDomainRegisterStringA, register_string);
    set(nvtx_abi::kDomainRangePushEx, push);
    set(nvtx_abi::kDomainRangePop, pop);
    taken_.store(true, std::memory_order_relaxed);
    return 1;
  }

 private:
  static constexpr size_t kDepthMax = 32;
  struct Open {
    uint32_t site;  // 0: a range that is no layer
    uint32_t instance;
    int64_t start_ns;
  };
  struct Thread {
    void* layers;  // they receive the ranges that are opened now; null: none
    uint32_t id;
    size_t depth;  // may exceed kDepthMax: deeper ranges are not recorded
    Open open[kDepthMax];
  };
  static Thread& thread() {
    static constinit thread_local Thread here = {};
    return here;
  }

  // NVTX passes a domain's handle back: the address that its creation returned.
  static constexpr char kOwn = 0, kOther = 0;

  static int push(const char* domain, const nvtx_abi::Event* event) {
    Thread& here = thread();
    if (domain != &kOwn || here.layers == nullptr) return nvtx_abi::kNoDepth;
    if (here.depth++ >= kDepthMax) return nvtx_abi::kNoDepth;
    Open& open = here.open[here.depth - 1];
    open = {};
    // A registered string's handle is the string itself. A message of another type has no name of
    // ours, and its value may be no pointer.
    const bool is_text = event != nullptr && (event->message_type == nvtx_abi::kMessageAscii ||
                                              event->message_type == nvtx_abi::kMessageRegistered);
    if (!is_text) return nvtx_abi::kNoDepth;
    const auto* text = static_cast<const char*>(event->message.registered);
    if (text != nullptr) open.site = Framework::site(here.layers, text);
    if (open.site == 0) return nvtx_abi::kNoDepth;
    open.instance = instances_.fetch_add(1, std::memory_order_relaxed) + 1;
    open.start_ns = xsp_now_ns();
    return nvtx_abi::kNoDepth;
  }

  static int pop(const char* domain) {
    Thread& here = thread();
    if (domain != &kOwn || here.layers == nullptr || here.depth == 0) return nvtx_abi::kNoDepth;
    if (here.depth-- > kDepthMax) return nvtx_abi::kNoDepth;
    const Open& open = here.open[here.depth];
    if (open.site == 0) return nvtx_abi::kNoDepth;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = open.site;
    span.thread = here.id;
    span.start_ns = open.start_ns;
    span.duration_ns = xsp_now_ns() - open.start_ns;
    xsp_emit(&span);
    return nvtx_abi::kNoDepth;
  }

  static const char* create(const char* name) {
    return name != nullptr && Framework::is_domain(name) ? &kOwn : &kOther;
  }
  static const void* register_string(const char*, const char* text) {
    return text == nullptr ? nullptr : strdup(text);
  }

  static xsp_layer_mark innermost() {
    const Thread& here = thread();
    for (size_t at = std::min(here.depth, kDepthMax); here.layers != nullptr && at-- > 0;) {
      if (here.open[at].site != 0) return {here.open[at].site, here.open[at].instance};
    }
    return {0, 0};
  }

  static inline std::atomic<uint32_t> instances_{0};
  static inline std::atomic<bool> taken_{false};
};

}  // namespace xsp

#endif  // XSP_NVTX_LAYERS_HPP_
