#include "adapters/pjrt/ranges.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "adapters/pjrt/layers.h"
#include "xsp/nvtx_abi.hpp"
#include "xsp/plugin.h"

namespace xsp::pjrt {
namespace {

namespace abi = nvtx_abi;

constexpr size_t kDepthMax = 32;

struct Open {
  uint32_t site;  // 0: a range that is no layer
  uint32_t instance;
  int64_t start_ns;
};
struct Thread {
  Layers* layers;  // they receive the ranges that are opened now; nullptr: none
  uint32_t id;
  size_t depth;  // may exceed kDepthMax: deeper ranges are not recorded
  Open open[kDepthMax];
};
constinit thread_local Thread thread = {};
std::atomic<uint32_t> instances{0};
std::atomic<bool> taken{false};

// NVTX passes a domain's handle back: the address that its creation returned.
constexpr char kXla = 0, kOther = 0;

int push(const char* domain, const abi::Event* event) {
  Thread& here = thread;
  if (domain != &kXla || here.layers == nullptr) return abi::kNoDepth;
  if (here.depth++ >= kDepthMax) return abi::kNoDepth;
  Open& open = here.open[here.depth - 1];
  open = {};
  // A registered string's handle is the string itself. A message of another type has no name of
  // ours, and its value may be no pointer.
  const bool is_text = event != nullptr && (event->message_type == abi::kMessageAscii ||
                                            event->message_type == abi::kMessageRegistered);
  if (!is_text) return abi::kNoDepth;
  const auto* text = static_cast<const char*>(event->message.registered);
  const std::string_view name = text == nullptr ? std::string_view() : instruction_of(text);
  if (name.empty()) return abi::kNoDepth;
  open.site = here.layers->site_of_instruction(name);
  if (open.site == 0) return abi::kNoDepth;
  open.instance = instances.fetch_add(1, std::memory_order_relaxed) + 1;
  open.start_ns = xsp_now_ns();
  return abi::kNoDepth;
}

int pop(const char* domain) {
  Thread& here = thread;
  if (domain != &kXla || here.layers == nullptr || here.depth == 0) return abi::kNoDepth;
  if (here.depth-- > kDepthMax) return abi::kNoDepth;
  const Open& open = here.open[here.depth];
  if (open.site == 0) return abi::kNoDepth;
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = open.site;
  span.thread = here.id;
  span.start_ns = open.start_ns;
  span.duration_ns = xsp_now_ns() - open.start_ns;
  xsp_emit(&span);
  return abi::kNoDepth;
}

const char* create(const char* name) {
  return name != nullptr && std::strcmp(name, "TSL") == 0 ? &kXla : &kOther;
}

const void* register_string(const char*, const char* text) {
  return text == nullptr ? nullptr : strdup(text);
}

xsp_layer_mark innermost() {
  const Thread& here = thread;
  for (size_t at = std::min(here.depth, kDepthMax); here.layers != nullptr && at-- > 0;) {
    if (here.open[at].site != 0) return {here.open[at].site, here.open[at].instance};
  }
  return {0, 0};
}

}  // namespace

void offer_ranges() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&offer_ranges), &here) == 0) return;
  setenv("NVTX_INJECTION64_PATH", here.dli_fname, 0);
}

bool has_ranges() { return taken.load(std::memory_order_relaxed); }

RecordRanges::RecordRanges(Layers* layers) {
  thread.layers = layers;
  thread.id = static_cast<uint32_t>(gettid());
  thread.depth = 0;
  if (layers != nullptr) xsp_offer_open_layer(innermost);
}

RecordRanges::~RecordRanges() {
  if (thread.layers != nullptr) xsp_offer_open_layer(nullptr);
  thread.layers = nullptr;
}

std::string_view instruction_of(std::string_view range) {
  static constexpr std::string_view kKey = "hlo_op=";
  if (range.rfind("TSL:", 0) == 0) range.remove_prefix(4);
  if (range.rfind("Thunk:", 0) != 0) return {};
  for (size_t at = 0; (at = range.find(kKey, at)) != std::string_view::npos; ++at) {
    if (range[at - 1] != '#' && range[at - 1] != ',') continue;
    range.remove_prefix(at + kKey.size());
    return range.substr(0, range.find_first_of(",#"));
  }
  return {};
}

}  // namespace xsp::pjrt

namespace p = xsp::pjrt;

// NVTX calls this, by this name, in every library that was compiled with its header. Returning 1
// means that it has set the functions.
extern "C" XSP_API int InitializeInjectionNvtx2(xsp::nvtx_abi::GetExportTable get) {
  namespace abi = xsp::nvtx_abi;
  if (get == nullptr) return 0;
  const auto* callbacks = static_cast<const abi::Callbacks*>(get(abi::kCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(abi::Callbacks)) return 0;
  abi::Table table = nullptr;
  unsigned size = 0;
  if (callbacks->get_table(abi::kModuleCore2, &table, &size) == 0 || table == nullptr) return 0;
  const auto set = [&](uint32_t id, auto* function) {
    if (id < size && table[id] != nullptr) *table[id] = reinterpret_cast<abi::Function>(function);
  };
  set(abi::kDomainCreateA, p::create);
  set(abi::kDomainRegisterStringA, p::register_string);
  set(abi::kDomainRangePushEx, p::push);
  set(abi::kDomainRangePop, p::pop);
  p::taken.store(true, std::memory_order_relaxed);
  return 1;
}
