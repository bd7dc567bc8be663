// The half of the library that runs on the emitting threads, with every span.
//
// A span costs two clock readings, an entry on the lane's open-span stack, and one 32-byte record.
// There is no lock, no system call and no allocation, except with a thread's first span, which
// joins the recording. Thread-local access uses the initial-exec model: it is one load relative to
// the thread register, while the default model of a shared library would call the loader. The
// single pointer fits into the space that the C library reserves for libraries that are loaded
// late.
//
// The stores have this order: the record, the ring's head, then, in one store, the count of
// accepted spans and the depth of the stack. So a kill at any instant duplicates no span and loses
// count of none.
#include "process/record/emit.h"

#include "process/record/tables.h"

namespace xsp::process {

using trace::Lane;
using trace::LaneBlock;

namespace {

constexpr uint32_t kNoSite = UINT32_MAX;  // in xsp_site::id: the table was full

uint64_t now_ticks() { return read_ticks(session.tick_source); }

uint32_t make_site(xsp_site* site) {
  uint32_t id = intern_site(site->level, site->name, site->type);
  if (id == 0) id = kNoSite;
  write_new_tables();
  __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
  return id;
}

// Returns the calling thread's lane if the short path can be used: the thread has joined this
// recording, and ticks come from the processor's counter. All other work is out of line.
inline Lane* ready_lane() {
  Lane* lane = thread_lane;
  const bool is_ready =
      lane != nullptr && lane->generation.load(std::memory_order_relaxed) ==
                             session.tsc_generation.load(std::memory_order_relaxed);
  return is_likely(is_ready) ? lane : nullptr;
}

inline void push(LaneBlock* block, uint64_t live, uint64_t start, uint32_t site_id) {
  // Whoever copies the open spans (snapshot_open) sees the end of the previous span before these.
  trace::OpenEntry* entry = &block->open[live & LaneBlock::kDepthMask];
  __atomic_store_n(&entry->site_id, site_id, __ATOMIC_RELEASE);
  __atomic_store_n(&entry->start, start, __ATOMIC_RELEASE);
  trace::store(&block->accepted_and_depth, live + 1);
}

// A span after the recording counts as lost only if the process ends with the recording: the
// session has a counter for it then.
void count_late() {
  uint64_t* late = session.late.load(std::memory_order_acquire);
  if (late != nullptr) __atomic_add_fetch(late, 1, __ATOMIC_RELAXED);
}

constexpr xsp_span kNoSpan = {0, 0, 0, 0};

// Returns whether a model's call is open. A call that was never ended is no longer open once a span
// around it has ended.
bool is_in_model(const Lane& lane) {
  if (lane.model_start == 0 || lane.is_step_alone != 0) return lane.model_start != 0;
  const uint64_t depth = trace::load(lane.block->accepted_and_depth) & LaneBlock::kDepthMask;
  uint64_t at = depth < trace::kOpenMax ? depth : trace::kOpenMax;
  if (at < depth) return true;
  while (at > 0 && lane.block->open[at - 1].start != lane.model_start) --at;
  return at > 0;
}

// Nothing is recorded of this model call, but the end of the step has to be known.
xsp_span step_alone(Lane* lane) {
  lane->model_start = now_ticks();
  lane->is_step_alone = 1;
  return {lane->model_start, 0, kStepAlone, 0};
}

__attribute__((noinline)) xsp_span begin_long_way(xsp_site* site) {
  Lane* lane = joined_lane();
  // The first span in a child of fork creates the child's file. The child may record nothing until
  // later.
  if (lane == nullptr || !xsp_is_recorded(site->level)) return kNoSpan;
  // begin_step_of_span() may switch levels.
  const bool is_step = site->level == XSP_LEVEL_MODEL && !is_in_model(*lane) &&
                       begin_step_of_span(lane->model_start != 0);
  const uint32_t levels = session.levels.load(std::memory_order_relaxed);
  if ((levels >> site->level & 1) == 0) return is_step ? step_alone(lane) : kNoSpan;
  uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (id == 0) id = make_site(site);
  if (id == kNoSite) id = 0;
  const uint64_t live = trace::load(lane->block->accepted_and_depth);
  const uint64_t depth = live & LaneBlock::kDepthMask;
  const uint64_t start = now_ticks();
  if (is_step) {
    lane->model_start = start;
    lane->is_step_alone = 0;
  }
  if (depth < trace::kOpenMax) {
    push(lane->block, live, start, id);
  } else if (depth < LaneBlock::kDepthMask) {
    trace::store(&lane->block->accepted_and_depth, live + 1);
  }
  return {start, 0, is_step ? id | kStepBit : id, 0};
}

// Ends a span that has values, or one around a model call that is a step.
__attribute__((noinline)) void end_special(Lane* lane, const xsp_span* span, uint64_t end) {
  if ((span->site_id & kStepBit) == 0) return end_with_values(lane, span, end);
  xsp_span plain = *span;
  plain.site_id &= ~kStepBit;
  if (span->site_id != kStepAlone) end_with_values(lane, &plain, end);
  if (lane->model_start != span->start) return;
  lane->model_start = 0;
  end_step_of_span();
}

__attribute__((noinline)) void end_long_way(const xsp_span* span) {
  // The recording has stopped: the span was written as open. The clock may be forbidden by now.
  if ((session.generation.load(std::memory_order_relaxed) & 1) != 0) return;
  const uint64_t end = now_ticks();
  Lane* lane = current_lane();
  if (lane == nullptr) {
    // The span began before this recording or before a fork: it was written as open there.
    if (span->start < session.first_ticks.load(std::memory_order_relaxed)) return;
    lane = joined_lane();
    if (lane == nullptr) return;
  }
  end_special(lane, span, end);
}

}  // namespace

Lane* joined_lane() {
  // An odd generation means that the recording has stopped.
  if ((session.generation.load(std::memory_order_relaxed) & 1) != 0) {
    count_late();
    return nullptr;
  }
  Lane* lane = current_lane();
  if (lane == nullptr) lane = attach_thread();
  if (lane == nullptr && (session.generation.load(std::memory_order_relaxed) & 1) == 0) {
    session.dropped_ring.fetch_add(1, std::memory_order_relaxed);
  }
  return lane;
}

void pop_unordered(Lane* lane, uint64_t start, uint64_t accepted) {
  LaneBlock* block = lane->block;
  const uint64_t live = trace::load(block->accepted_and_depth);
  uint64_t depth = live & LaneBlock::kDepthMask;
  uint64_t at = depth < trace::kOpenMax ? depth : trace::kOpenMax;
  while (at > 0 && block->open[at - 1].start != start) --at;
  // If it is not found, it began on another thread or lies above the entries that the stack keeps.
  if (at > 0) {
    depth = at - 1;
  } else if (depth > trace::kOpenMax) {
    --depth;
  }
  if (depth == 0) lane->pending_used = 0;
  trace::store(&block->accepted_and_depth,
               ((live & ~LaneBlock::kDepthMask) | depth) + accepted * LaneBlock::kOneAccepted);
}

}  // namespace xsp::process

namespace c = xsp::process;
namespace t = xsp::trace;

extern "C" {

xsp_span xsp_begin_recorded(xsp_site* site) {
  t::Lane* lane = c::ready_lane();
  if (!c::is_likely(lane != nullptr)) return c::begin_long_way(site);
  const uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  const uint64_t live = t::load(lane->block->accepted_and_depth);
  const bool is_plain = id - 1 < xsp::kSiteMax && site->level != XSP_LEVEL_MODEL &&
                        (live & t::LaneBlock::kDepthMask) < t::kOpenMax;
  if (!c::is_likely(is_plain)) return c::begin_long_way(site);
  const uint64_t start = xsp::read_tsc();
  c::push(lane->block, live, start, id);
  return {start, 0, id, 0};
}

void xsp_end_recorded(const xsp_span* span) {
  t::Lane* lane = c::ready_lane();
  if (!c::is_likely(lane != nullptr)) return c::end_long_way(span);
  const uint64_t end = xsp::read_tsc();
  const uint64_t head = lane->head.load(std::memory_order_relaxed);
  const bool is_plain =
      span->key < c::kHasPending && span->site_id - 1 < xsp::kSiteMax && head < lane->limit;
  if (!c::is_likely(is_plain)) return c::end_special(lane, span, end);
  c::fill(c::slot(lane, head), span, end, 0);
  lane->head.store(head + 1, std::memory_order_release);
  c::pop(lane, span->start, 1);
}

}  // extern "C"
