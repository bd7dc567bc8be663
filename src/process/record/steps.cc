// Steps are the iterations of the program's main loop. They are found from calls that mark them.
//
// A model call is either reported by code that observes a framework (xsp_step_begin), or it is a
// span of the level model that the program itself begins. Such a span is a step only if there is a
// watcher, and only if it is the outermost one of its thread. Calls within a step are not steps,
// whichever way they are reported.
//
// Only the steps of one thread and one kind are counted. A step is recorded when it has ended, as a
// span of the level application, whatever the levels are: it costs two readings of the clock and
// one record. It is never on the stack of open spans, so a process that ends in a step leaves none
// open.
#include <string.h>

#include "process/record/emit.h"
#include "process/record/session.h"
#include "process/record/tables.h"

namespace xsp::process {
namespace {

// If the counted thread has shown no step for this long, another thread may take its place.
constexpr int64_t kSilenceNs = 1'000'000'000;

constexpr const char* kKindNames[] = {"", "model", "optimizer", "mark"};

struct Steps {
  std::atomic<uint32_t> kind{0};             // XSP_STEP_*; 0: none was seen
  std::atomic<const char*> thread{nullptr};  // owner of the steps: the address of its `self`
  std::atomic<int64_t> last_ns{0};           // time of the last report
  // Only the owning thread uses the members below.
  uint64_t number = 0;       // number of the current step, or of the next one
  uint64_t start = 0;        // in ticks; 0: no step is open
  uint64_t first_start = 0;  // start of the first step of any kind
  uint32_t sites[4] = {};
  uint32_t key = 0;
};
Steps steps;
__thread char self __attribute__((tls_model("initial-exec")));

uint64_t now_ticks() { return read_ticks(session.tick_source.load(std::memory_order_relaxed)); }

bool is_idle() { return (session.generation.load(std::memory_order_relaxed) & 1) != 0; }

// Returns whether this step is one of those that are counted.
bool is_counted(uint32_t kind) {
  if (is_idle() || kind < XSP_STEP_MODEL || kind > XSP_STEP_MARK) return false;
  const uint32_t current = steps.kind.load(std::memory_order_relaxed);
  if (kind < current) return false;
  const int64_t now_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
  if (kind > current) {
    steps.kind.store(kind, std::memory_order_relaxed);
    steps.thread.store(&self, std::memory_order_relaxed);
    steps.number = 0;
    steps.start = steps.first_start;
  } else if (steps.thread.load(std::memory_order_relaxed) != &self) {
    if (now_ns - steps.last_ns.load(std::memory_order_relaxed) < kSilenceNs) return false;
    steps.thread.store(&self, std::memory_order_relaxed);
    steps.start = 0;
  }
  steps.last_ns.store(now_ns, std::memory_order_relaxed);
  return true;
}

uint32_t site_of(uint32_t kind) {
  if (steps.sites[kind] == 0) {
    const uint32_t site = new_site(XSP_LEVEL_APPLICATION, "step", "step");
    add_site_attribute(site, "step_of", kKindNames[kind]);
    steps.key = intern_key("step");
    steps.sites[kind] = site;
  }
  return steps.sites[kind];
}

void record(uint32_t kind) {
  if (steps.start == 0) return;
  xsp_span span = {steps.start, steps.number, site_of(kind), 0};
  span.key = steps.key;
  xsp_end_recorded(&span);
}

void tell(uint32_t kind) {
  const Watcher* watcher = session.watcher.load(std::memory_order_relaxed);
  if (watcher != nullptr) watcher->on_step(kind, steps.number);
}

// Returns whether the thread is within a model call that a span stands for.
bool is_in_call() {
  const trace::Lane* lane = current_lane();
  return lane != nullptr && lane->model_start != 0;
}

void begin(uint32_t kind) {
  if (kind != XSP_STEP_MODEL || !is_counted(kind)) return;
  tell(kind);
  steps.start = now_ticks();
  if (steps.first_start == 0) steps.first_start = steps.start;
}

void end(uint32_t kind) {
  if (!is_counted(kind)) return;
  record(kind);
  ++steps.number;
  steps.start = 0;
  if (kind == XSP_STEP_MODEL) return;
  tell(kind);
  steps.start = now_ticks();
}

}  // namespace

bool begin_step_of_span(bool is_after_another) {
  if (session.watcher.load(std::memory_order_relaxed) == nullptr) return false;
  const bool is_in_step = steps.kind.load(std::memory_order_relaxed) == XSP_STEP_MODEL &&
                          steps.thread.load(std::memory_order_relaxed) == &self && steps.start != 0;
  if (is_in_step && !is_after_another) return false;
  begin(XSP_STEP_MODEL);
  return true;
}

void end_step_of_span() { end(XSP_STEP_MODEL); }

void forget_steps() {
  steps.kind = 0;
  steps.thread = nullptr;
  steps.number = steps.start = steps.first_start = 0;
}

}  // namespace xsp::process

namespace c = xsp::process;

extern "C" {

void xsp_step(void) { c::end(XSP_STEP_MARK); }
void xsp_step_begin(uint32_t kind) {
  if (!c::is_in_call()) c::begin(kind);
}
void xsp_step_end(uint32_t kind) {
  if (kind != XSP_STEP_MODEL || !c::is_in_call()) c::end(kind);
}
void xsp_switch_levels(uint32_t levels, uint32_t round) { c::set_levels(levels, round); }
uint64_t xsp_file_bytes(void) { return c::file_bytes(); }
void xsp_limit_file(uint64_t more_bytes) { c::limit_file(more_bytes); }
uint32_t xsp_levels(void) {
  return c::is_idle() ? 0 : c::session.levels.load(std::memory_order_relaxed);
}
// Takes no lock: a signal handler that ends the process may have interrupted the thread that holds
// it.
void xsp_set_watcher(const c::Watcher* watcher) {
  c::session.watcher = watcher;
  if (!c::is_idle()) c::publish_levels(xsp_levels());
}

}  // extern "C"
