#include "process/watch/nvtx.h"

#include <string.h>
#include <unistd.h>

#include <atomic>

#include "process/record/open_layer.h"
#include "process/record/watcher.h"
#include "process/watch/nvtx_names.h"
#include "process/watch/watch.h"
#include "shared/base/keep_errno.h"
#include "xsp/nvtx_abi.hpp"
#include "xsp/xsp.h"

namespace xsp::process::nvtx {
namespace {

namespace abi = nvtx_abi;

constexpr size_t kDepthMax = 128;     // pushed ranges on a thread; deeper ones are not recorded
constexpr size_t kStartedMax = 1024;  // ranges that were started and have not ended

struct Pushed {
  const Domain* domain;
  bool is_step;         // a range of the level model is a step of the program
  const char* program;  // name of XLA's program; null: the range is none
  uint32_t instance;    // number in the level layer: see xsp_layer_mark; or 0
  xsp_span span;
};
struct Stack {
  uint32_t depth;  // may exceed kDepthMax
  Pushed pushed[kDepthMax];
};
constinit thread_local Stack stack = {};

enum class Life : uint32_t { kFree, kBusy, kOpen };
struct Started {
  std::atomic<Life> life{Life::kFree};
  uint32_t generation;
  uint32_t site;
  uint32_t thread;
  int64_t start_ns;
  xsp_value values[2];
  size_t value_count;
};
constinit Started started[kStartedMax] = {};
uint32_t next_started = 0;
int64_t iterations = 0;
uint32_t instances = 0;

// Describes a range or a mark.
struct Said {
  Domain* domain = nullptr;
  uint32_t category = 0;
  const char* name = "";
  const abi::Event* event = nullptr;  // null: it has only a name
  char buffer[kNameBytesMax];
};

void say(Said* said, Domain* domain, const abi::Event* event) {
  said->domain = domain;
  said->event = event;
  if (event == nullptr) return;
  said->category = event->category;
  switch (event->message_type) {
    case abi::kMessageAscii:
      said->name = event->message.ascii;
      break;
    case abi::kMessageUnicode:
      if (event->message.unicode != nullptr)
        said->name = narrow(event->message.unicode, said->buffer);
      break;
    case abi::kMessageRegistered:
      said->name = registered_text(event->message.registered);
      break;
    default:
      break;
  }
  if (said->name == nullptr || *said->name == '\0') said->name = "(no name)";
}

// Returns false if the event has no payload.
bool payload_of(const abi::Event* event, xsp_value* value) {
  static uint32_t key = 0;
  if (event == nullptr || event->payload_type == 0) return false;
  if (key == 0) key = xsp_intern_key("payload");
  *value = {};
  value->key = key;
  value->kind = XSP_VALUE_INT;
  switch (event->payload_type) {
    case abi::kPayloadUint64:
    case abi::kPayloadInt64:
      value->value.as_int = event->payload.as_int64;
      return true;
    case abi::kPayloadUint32:
      value->value.as_int = event->payload.as_uint32;
      return true;
    case abi::kPayloadInt32:
      value->value.as_int = event->payload.as_int32;
      return true;
    case abi::kPayloadDouble:
    case abi::kPayloadFloat:
      value->kind = XSP_VALUE_DOUBLE;
      value->value.as_double = event->payload_type == abi::kPayloadDouble
                                   ? event->payload.as_double
                                   : static_cast<double>(event->payload.as_float);
      return true;
    default:
      return false;  // payload of an extension: only its own tool understands it
  }
}

// Collects the attributes of a span: two numbers at most.
size_t values_of(const Said& said, const Place& place, xsp_value* values) {
  static uint32_t iteration_key = 0;
  size_t count = 0;
  if (place.is_iteration) {
    if (iteration_key == 0) iteration_key = xsp_intern_key("iteration");
    values[count] = {};
    values[count].key = iteration_key;
    values[count].kind = XSP_VALUE_INT;
    values[count].value.as_int = __atomic_fetch_add(&iterations, 1, __ATOMIC_RELAXED);
    ++count;
  }
  if (payload_of(said.event, &values[count])) ++count;
  return count;
}

void put(xsp_span* span, const xsp_value& value) {
  if (value.kind == XSP_VALUE_INT) {
    xsp_span_int(span, value.key, value.value.as_int);
  } else {
    xsp_span_double(span, value.key, value.value.as_double);
  }
}

void put_message(xsp_span* span, const char* name) {
  static uint32_t key = 0;
  if (key == 0) key = xsp_intern_key("message");
  xsp_span_text(span, key, name);
}

// While nothing is recorded, nothing is looked up.
bool is_recording() { return xsp_levels() != 0; }

uint32_t depth_of(const Domain* domain) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < stack.depth && i < kDepthMax; ++i) {
    depth += stack.pushed[i].domain == domain ? 1 : 0;
  }
  return depth;
}

// Returns the innermost layer on this thread: CUDA graph nodes that are made now belong to it.
xsp_layer_mark open_layer() {
  for (uint32_t at = stack.depth < kDepthMax ? stack.depth : kDepthMax; at-- > 0;) {
    const Pushed& one = stack.pushed[at];
    if (one.instance != 0) return {one.span.site_id, one.instance};
  }
  return {0, 0};
}

// Returns the innermost of XLA's programs among the ranges below this one.
const char* open_program(uint32_t at) {
  while (at-- > 0) {
    if (stack.pushed[at].program != nullptr) return stack.pushed[at].program;
  }
  return nullptr;
}

int push(const Said& said) {
  const uint32_t at = stack.depth++;
  if (at >= kDepthMax) return abi::kNoDepth;
  Pushed* pushed = &stack.pushed[at];
  pushed->domain = said.domain;
  pushed->is_step = false;
  pushed->instance = 0;
  pushed->program = nullptr;
  pushed->span = {};
  const int depth = static_cast<int>(depth_of(said.domain)) - 1;
  if (!is_recording() && !is_xsp(said.domain)) return depth;
  const KeepErrno keep_errno;
  const Place place = place_of(said.domain, said.category, said.name, "range", open_program(at));
  if (place.site == 0) return depth;
  pushed->program = place.program;
  pushed->is_step = place.is_iteration;
  if (pushed->is_step) xsp_step_begin(XSP_STEP_MODEL);
  xsp_site site = {nullptr, nullptr, place.level, place.site};
  pushed->span = xsp_begin(&site);
  if (pushed->span.start == 0) return depth;
  if (place.level == XSP_LEVEL_LAYER) {
    pushed->instance = __atomic_add_fetch(&instances, 1, __ATOMIC_RELAXED);
    xsp_offer_open_range(open_layer);
  }
  xsp_value values[2];
  const size_t count = values_of(said, place, values);
  for (size_t i = 0; i < count; ++i) put(&pushed->span, values[i]);
  if (place.is_other) put_message(&pushed->span, said.name);
  return depth;
}

// Ends the innermost range of that domain, even if ranges of other domains are open inside it.
int pop(const Domain* domain) {
  if (stack.depth > kDepthMax) {
    --stack.depth;
    return abi::kNoDepth;
  }
  for (uint32_t at = stack.depth; at-- > 0;) {
    if (stack.pushed[at].domain != domain) continue;
    const KeepErrno keep_errno;
    const int depth = static_cast<int>(depth_of(domain)) - 1;
    xsp_end(&stack.pushed[at].span);
    if (stack.pushed[at].is_step) xsp_step_end(XSP_STEP_MODEL);
    memmove(&stack.pushed[at], &stack.pushed[at + 1], (stack.depth - at - 1) * sizeof(Pushed));
    --stack.depth;
    return depth;
  }
  return abi::kNoDepth;
}

void emit(uint32_t site, int64_t start_ns, uint32_t thread, const xsp_value* values, size_t count) {
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = site;
  span.thread = thread;
  span.start_ns = start_ns;
  span.duration_ns = xsp_now_ns() - start_ns;
  span.values = values;
  span.value_count = count;
  xsp_emit(&span);
}

uint64_t start(const Said& said) {
  if (!is_recording()) return 0;
  const KeepErrno keep_errno;
  const Place place = place_of(said.domain, said.category, said.name, "range", nullptr);
  const uint32_t first = __atomic_fetch_add(&next_started, 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < kStartedMax; ++i) {
    const uint32_t at = (first + i) % kStartedMax;
    Life is_free = Life::kFree;
    if (!started[at].life.compare_exchange_strong(is_free, Life::kBusy, std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
      continue;
    }
    Started* one = &started[at];
    ++one->generation;
    one->site = place.site;
    one->thread = static_cast<uint32_t>(gettid());
    one->value_count = values_of(said, place, one->values);
    one->start_ns = xsp_now_ns();
    const uint64_t id = static_cast<uint64_t>(one->generation) << 32 | (at + 1);
    one->life.store(Life::kOpen, std::memory_order_release);
    return id;
  }
  xsp_count_loss("nvtx", "too many started ranges are open", 1);
  return 0;
}

void end(uint64_t id) {
  const auto at = static_cast<uint32_t>(id) - 1;
  if (at >= kStartedMax || started[at].generation != id >> 32) return;
  Life is_open = Life::kOpen;
  if (!started[at].life.compare_exchange_strong(is_open, Life::kBusy, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
    return;
  }
  const KeepErrno keep_errno;
  const Started& one = started[at];
  if (one.site != 0) emit(one.site, one.start_ns, one.thread, one.values, one.value_count);
  started[at].life.store(Life::kFree, std::memory_order_release);
}

void mark(const Said& said) {
  if (is_xsp(said.domain) && strcmp(said.name, "step") == 0) return xsp_step();
  if (!is_recording()) return;
  const KeepErrno keep_errno;
  const Place place = place_of(said.domain, said.category, said.name, "mark", nullptr);
  if (place.site == 0) return;
  xsp_value value;
  const size_t count = payload_of(said.event, &value) ? 1 : 0;
  emit(place.site, xsp_now_ns(), 0, &value, count);
}

// ---- The functions that NVTX calls ----

using Handle = Domain*;

void on_mark(Handle domain, const abi::Event* event) {
  Said said;
  say(&said, domain, event);
  mark(said);
}
int on_push(Handle domain, const abi::Event* event) {
  Said said;
  say(&said, domain, event);
  return push(said);
}
uint64_t on_start(Handle domain, const abi::Event* event) {
  Said said;
  say(&said, domain, event);
  return start(said);
}
void mark_ex(const abi::Event* event) { on_mark(nullptr, event); }
int push_ex(const abi::Event* event) { return on_push(nullptr, event); }
uint64_t start_ex(const abi::Event* event) { return on_start(nullptr, event); }

// Makes an event that has only a name.
abi::Event event_of(const char* name) {
  abi::Event event = {};
  event.message_type = abi::kMessageAscii;
  event.message.ascii = name;
  return event;
}
abi::Event event_of(const wchar_t* name) {
  abi::Event event = {};
  event.message_type = abi::kMessageUnicode;
  event.message.unicode = name;
  return event;
}
template <typename Char>
void mark_name(const Char* name) {
  const abi::Event event = event_of(name);
  on_mark(nullptr, &event);
}
template <typename Char>
int push_name(const Char* name) {
  const abi::Event event = event_of(name);
  return on_push(nullptr, &event);
}
template <typename Char>
uint64_t start_name(const Char* name) {
  const abi::Event event = event_of(name);
  return on_start(nullptr, &event);
}
int pop_default() { return pop(nullptr); }
int pop_domain(Handle domain) { return pop(domain); }
void end_range(uint64_t id) { end(id); }
void end_domain(Handle, uint64_t id) { end(id); }

const char* as_ascii(const char* text, char*) { return text; }
const char* as_ascii(const wchar_t* text, char* buffer) { return narrow(text, buffer); }

template <typename Char>
void category_name(uint32_t category, const Char* name) {
  char buffer[kNameBytesMax];
  if (name != nullptr) name_category(nullptr, category, as_ascii(name, buffer));
}
template <typename Char>
void domain_category(Handle domain, uint32_t category, const Char* name) {
  char buffer[kNameBytesMax];
  if (name != nullptr) name_category(domain, category, as_ascii(name, buffer));
}
template <typename Char>
const void* string_of(Handle, const Char* text) {
  char buffer[kNameBytesMax];
  return text == nullptr ? nullptr : register_string(as_ascii(text, buffer));
}
template <typename Char>
Handle domain_named(const Char* name) {
  char buffer[kNameBytesMax];
  return name == nullptr ? nullptr : domain_of(as_ascii(name, buffer));
}

// ---- Attaching ----

struct Entry {
  uint32_t id;
  abi::Function function;
};
template <typename Signature>
Entry entry(uint32_t id, Signature* function) {
  return {id, reinterpret_cast<abi::Function>(function)};
}

void attach(const abi::Callbacks& callbacks, uint32_t module, const Entry* entries, size_t count) {
  abi::Table table = nullptr;
  unsigned size = 0;
  if (callbacks.get_table(module, &table, &size) == 0 || table == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].id < size && table[entries[i].id] != nullptr) {
      *table[entries[i].id] = entries[i].function;
    }
  }
}

void attach_all(const abi::Callbacks& callbacks) {
  const Entry core[] = {
      entry(abi::kMarkEx, mark_ex),
      entry(abi::kMarkA, mark_name<char>),
      entry(abi::kMarkW, mark_name<wchar_t>),
      entry(abi::kRangeStartEx, start_ex),
      entry(abi::kRangeStartA, start_name<char>),
      entry(abi::kRangeStartW, start_name<wchar_t>),
      entry(abi::kRangeEnd, end_range),
      entry(abi::kRangePushEx, push_ex),
      entry(abi::kRangePushA, push_name<char>),
      entry(abi::kRangePushW, push_name<wchar_t>),
      entry(abi::kRangePop, pop_default),
      entry(abi::kNameCategoryA, category_name<char>),
      entry(abi::kNameCategoryW, category_name<wchar_t>),
  };
  const Entry core2[] = {
      entry(abi::kDomainMarkEx, on_mark),
      entry(abi::kDomainRangeStartEx, on_start),
      entry(abi::kDomainRangeEnd, end_domain),
      entry(abi::kDomainRangePushEx, on_push),
      entry(abi::kDomainRangePop, pop_domain),
      entry(abi::kDomainNameCategoryA, domain_category<char>),
      entry(abi::kDomainNameCategoryW, domain_category<wchar_t>),
      entry(abi::kDomainRegisterStringA, string_of<char>),
      entry(abi::kDomainRegisterStringW, string_of<wchar_t>),
      entry(abi::kDomainCreateA, domain_named<char>),
      entry(abi::kDomainCreateW, domain_named<wchar_t>),
  };
  attach(callbacks, abi::kModuleCore, core, sizeof core / sizeof core[0]);
  attach(callbacks, abi::kModuleCore2, core2, sizeof core2 / sizeof core2[0]);
}

}  // namespace
}  // namespace xsp::process::nvtx

namespace n = xsp::process::nvtx;

void xsp::process::forget_ranges() {
  n::forget_names();
  for (uint32_t i = 0; i < n::stack.depth && i < n::kDepthMax; ++i) n::stack.pushed[i].span = {};
  for (n::Started& one : n::started) one.life.store(n::Life::kFree, std::memory_order_relaxed);
}

// Returns 1 if NVTX calls now come here; 0: there is nothing to do, and the calls cost nothing.
extern "C" XSP_API int InitializeInjectionNvtx2(xsp::nvtx_abi::GetExportTable get) {
  if (get == nullptr || !xsp::process::is_recording()) return 0;
  const auto* callbacks =
      static_cast<const xsp::nvtx_abi::Callbacks*>(get(xsp::nvtx_abi::kCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(xsp::nvtx_abi::Callbacks)) return 0;
  n::attach_all(*callbacks);
  return 1;
}
