// The drainer is a thread that moves the emitted spans from the rings to the file every few
// milliseconds.
//
// A kill -9 can lose the spans that ended since the last pass, which was at most kPassPeriodNs ago
// on a machine that keeps up. Their number is known from the lanes' blocks, which lie in the file.
// Rings in the file would lose nothing. But the kernel writes dirty pages back at times that the
// program cannot choose, and write-protects them meanwhile: an emitting thread would meet page
// faults and, on a slow disk, would wait. docs/trace_format.md has the numbers.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "process/record/anchors.h"
#include "process/record/own_threads.h"
#include "process/record/session.h"
#include "process/record/tables.h"
#include "shared/trace/encode.h"

namespace xsp::process {

using trace::ChunkHeader;
using trace::ChunkType;
using trace::Lane;
using trace::LaneBlock;
using trace::LaneUse;
using trace::SpanEncoder;

struct DrainMemory {
  uint8_t buffer[sizeof(ChunkHeader) + kChunkPayloadBytesMax + trace::kChunkAlignment];
  uint8_t encoder_memory[2][SpanEncoder::kMemoryBytes];
  SpanEncoder as_happened{encoder_memory[0]};
  SpanEncoder given{encoder_memory[1]};
  uint64_t heads[kLaneMax];
  AnchorTracker anchors;
  size_t tables_written = 0;
  uint64_t tables_dropped_before = 0;

  uint8_t* payload() { return buffer + sizeof(ChunkHeader); }
};

namespace {

constexpr int64_t kPassPeriodNs = 4'000'000;
constexpr size_t kTableChunkBytes = 1u << 20;
constexpr uint64_t kSlotsPerRelease = 2048;
constexpr int64_t kAloneCheckNs = 25'000'000;

void note_error(int error) {
  static int said = 0;
  if (error == 0) return;
  if (session.first_error == 0) session.first_error = error;
  complain(&said, "cannot write the trace", error, "spans are counted and dropped");
}

int append(ChunkType type, size_t payload_bytes) {
  const int error = session.writer.append(type, session.drain->buffer, payload_bytes);
  note_error(error);
  return error;
}

void write_anchor(const Anchor& anchor) {
  memcpy(session.drain->payload(), &anchor, sizeof anchor);
  append(ChunkType::kAnchor, sizeof anchor);
}

// Updates the anchor in the first page. Writes an anchor into the stream periodically, and one on
// each side of a clock jump.
void take_anchor(bool is_last) {
  trace::SessionBlock* block = session.writer.session();
  const Anchor now = sample_anchor(session.tick_source);
  const Anchor before = session.drain->anchors.latest();
  const AnchorTracker::Verdict verdict = session.drain->anchors.add(now);
  if (verdict.is_jump) {
    trace::add_one(&block->clock_jumps);
    write_anchor(before);
  }
  if (verdict.is_due || is_last) write_anchor(now);
  const uint64_t count = trace::load(block->anchor_count) + 1;
  block->latest[count % 2] = now;
  trace::store(&block->anchor_count, count);
}

// Returns the size of the next chunk: it holds whole entries only. Each entry begins with its
// length.
size_t table_bytes_to_write(const uint8_t* log, size_t begin, size_t end) {
  size_t at = begin;
  while (at < end) {
    uint64_t length = 0;
    const uint8_t* body = trace::get_varint(log + at, log + end, &length);
    const size_t next = static_cast<size_t>(body - log) + length;
    if (at > begin && next - begin > kTableChunkBytes) break;
    at = next;
  }
  return at - begin;
}

void write_spans(Lane* lane, SpanEncoder* encoder, bool is_given, bool can_write) {
  const uint32_t count = encoder->span_count();
  if (count == 0) return;
  uint64_t* drained = is_given ? &lane->drained_given : &lane->drained;
  const size_t bytes =
      encoder->finish(*drained, trace::load(lane->block->dropped_ring),
                      trace::load(lane->block->dropped_site), session.drain->payload());
  *drained += count;
  if (!can_write || append(ChunkType::kSpans, bytes) != 0) {
    uint64_t* dropped = &session.writer.session()->dropped_file;
    trace::store(dropped, trace::load(*dropped) + count);
  }
  // This store comes last: the spans of a chunk that a kill cut short do not count as drained.
  uint64_t* all = &session.writer.session()->drained;
  trace::store(all, trace::load(*all) + count);
  encoder->begin(lane->number, lane->thread, is_given);
}

// Moves the lane's groups before `head` to the file. Counts them as lost if they cannot be written.
void drain_lane(Lane* lane, uint64_t head, bool can_write) {
  DrainMemory* drain = session.drain;
  const trace::Slots slots = {lane->slots, lane->mask};
  uint64_t position = lane->tail.load(std::memory_order_relaxed);
  if (position == head) return;
  drain->as_happened.begin(lane->number, lane->thread, false);
  drain->given.begin(lane->number, lane->thread, true);
  uint64_t released = position;
  while (position < head) {
    const trace::Record& record = slots[position];
    SpanEncoder* encoder = record.is_given() ? &drain->given : &drain->as_happened;
    if (!encoder->add(slots, position)) {
      write_spans(lane, encoder, record.is_given(), can_write);
      encoder->add(slots, position);
    }
    position += 1 + record.extra_slots();
    if (position - released >= kSlotsPerRelease) {
      lane->tail.store(position, std::memory_order_release);
      released = position;
    }
  }
  lane->tail.store(position, std::memory_order_release);
  write_spans(lane, &drain->as_happened, false, can_write);
  write_spans(lane, &drain->given, true, can_write);
}

// The open spans of a lane, its counts, and the head of its ring, all at the same moment.
struct OpenSpans {
  uint64_t depth;
  uint64_t accepted;
  uint64_t dropped_ring;
  uint64_t dropped_site;
  uint64_t head;
  trace::OpenEntry entries[trace::kOpenMax];
};

void snapshot_open(const Lane* lane, OpenSpans* open) {
  // The lane's thread may be ending a span right now: retry until nothing changed during the copy.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const uint64_t before = __atomic_load_n(&lane->block->accepted_and_depth, __ATOMIC_ACQUIRE);
    open->depth = before & LaneBlock::kDepthMask;
    open->accepted = before >> LaneBlock::kDepthBits;
    const uint64_t kept = open->depth < trace::kOpenMax ? open->depth : trace::kOpenMax;
    for (uint64_t i = 0; i < kept; ++i) {
      const trace::OpenEntry* entry = &lane->block->open[i];
      open->entries[i] = {__atomic_load_n(&entry->start, __ATOMIC_ACQUIRE),
                          __atomic_load_n(&entry->site_id, __ATOMIC_ACQUIRE), 0};
    }
    open->dropped_ring = trace::load(lane->block->dropped_ring);
    open->dropped_site = trace::load(lane->block->dropped_site);
    open->head = lane->head.load(std::memory_order_acquire);
    if (__atomic_load_n(&lane->block->accepted_and_depth, __ATOMIC_ACQUIRE) == before) return;
  }
}

// Writes the spans that will not end in this recording. The lane is already drained up to
// open.head.
void write_open(Lane* lane, const OpenSpans& open) {
  // A drained span may still be on the stack because its thread has not popped it yet. It is not
  // open.
  const uint64_t ended = lane->drained - open.accepted;
  const uint64_t depth = open.depth > ended ? open.depth - ended : 0;
  if (depth == 0) return;
  const uint64_t kept = depth < trace::kOpenMax ? depth : trace::kOpenMax;
  const trace::OpenHeader header = {lane->number, lane->thread, static_cast<uint32_t>(depth), 0};
  uint8_t* payload = session.drain->payload();
  memcpy(payload, &header, sizeof header);
  memcpy(payload + sizeof header, open.entries, kept * sizeof(trace::OpenEntry));
  if (append(ChunkType::kOpen, sizeof header + kept * sizeof(trace::OpenEntry)) != 0) {
    uint64_t* dropped = &session.writer.session()->dropped_file;
    trace::store(dropped, trace::load(*dropped) + depth);
  }
}

uint8_t* put_text(uint8_t* out, const char* text) {
  const size_t size = strlen(text);
  out = trace::put_varint(out, size);
  memcpy(out, text, size);
  return out + size;
}

void write_losses() {
  if (!session.losses_changed) return;
  uint8_t* end = session.drain->payload();
  for (uint32_t i = 0; i < session.loss_count; ++i) {
    end = put_text(end, session.losses[i].source);
    end = put_text(end, session.losses[i].cause);
    end = trace::put_varint(end, session.losses[i].count);
  }
  const size_t bytes = static_cast<size_t>(end - session.drain->payload());
  if (append(ChunkType::kLoss, bytes) == 0) session.losses_changed = false;
}

// Copies blocks to the file where the file system cannot map them.
void copy_unmapped_blocks() {
  session.writer.write_session();
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    const Lane* lane = session.lanes[i];
    if (lane->has_block != 0 && lane->is_mapped == 0) {
      session.writer.write_page(lane->block, lane->block_offset);
    }
  }
}

bool is_of_session(const Lane* lane) {
  return lane->generation.load(std::memory_order_relaxed) ==
         (session.generation.load(std::memory_order_relaxed) & ~1u);
}

void publish_counts() {
  trace::SessionBlock* block = session.writer.session();
  trace::store(&block->dropped_ring, session.dropped_ring);
  trace::store(&block->dropped_site, session.dropped_site);
  trace::store(&block->dropped_value, session.dropped_value);
}

// Makes one pass. Returns the highest fill level of any ring that it met, in 1/256.
uint64_t pass(bool is_last) {
  uint64_t fullest = 0;
  take_anchor(is_last);
  // The heads are read before the tables are written: the tables then hold the site of every span
  // whose record was seen.
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    Lane* lane = session.lanes[i];
    session.drain->heads[i] = lane->head.load(std::memory_order_acquire);
    const uint64_t fill = session.drain->heads[i] - lane->tail.load(std::memory_order_relaxed);
    if (is_of_session(lane) && fill * 256 / lane->mask > fullest) fullest = fill * 256 / lane->mask;
  }
  const bool can_write = write_tables();
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    Lane* lane = session.lanes[i];
    if (!is_of_session(lane)) continue;
    const bool ended =
        lane->use.load(std::memory_order_acquire) == static_cast<uint32_t>(LaneUse::kOrphaned);
    if (ended) {
      release_lane(lane);
    } else {
      drain_lane(lane, session.drain->heads[i], can_write);
    }
  }
  write_losses();
  publish_counts();
  copy_unmapped_blocks();
  return fullest;
}

// The program's last thread has ended. Without this thread the process would have ended, too.
// Writes everything that was emitted, and then ends this thread, and the process with it, in the
// way in which the program's last thread would have ended it. If the program's threads ended
// through the C library, this thread does so, too, and runs the exit handlers. If the first thread
// ended through a system call, its status, unless it is 0, becomes that of the process.
void* end_with_program(int status) {
  const Watcher* watcher = session.watcher;
  if (watcher != nullptr) watcher->on_last_thread();
  pthread_mutex_lock(&session.lock);
  session.has_drainer_thread = false;
  if (session.state == State::kRecording) pass(false);
  pthread_mutex_unlock(&session.lock);
  if (status != 0) syscall(SYS_exit, status);
  pthread_detach(pthread_self());
  return nullptr;
}

void* drainer_main(void*) {
  pthread_setname_np(pthread_self(), "xsp-drainer");
  int64_t checked_ns = clock_ns(CLOCK_MONOTONIC);
  pthread_mutex_lock(&session.lock);
  while (!session.drainer_quits) {
    const bool is_much = pass(false) > 32;
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns - checked_ns >= kAloneCheckNs) {
      checked_ns = now_ns;
      int status = 0;
      if (has_program_ended(&status)) {
        pthread_mutex_unlock(&session.lock);
        return end_with_program(status);
      }
    }
    // on_pass() may switch levels, which takes the lock.
    const Watcher* watcher = session.watcher;
    if (watcher != nullptr) {
      pthread_mutex_unlock(&session.lock);
      watcher->on_pass();
      pthread_mutex_lock(&session.lock);
      if (session.drainer_quits) break;
    }
    if (is_much) {
      // Many spans arrived. Look again at once, but first let a thread that waits for the lock take
      // it.
      pthread_mutex_unlock(&session.lock);
      const timespec moment = {0, 50'000};
      if (session.waiting.load(std::memory_order_relaxed) > 0) nanosleep(&moment, nullptr);
      pthread_mutex_lock(&session.lock);
      continue;
    }
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += kPassPeriodNs;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    pthread_cond_timedwait(&session.wake, &session.lock, &until);
  }
  pthread_mutex_unlock(&session.lock);
  return nullptr;
}

void free_memory() {
  munmap(session.drain, sizeof(DrainMemory));
  session.drain = nullptr;
}

}  // namespace

bool write_tables() {
  DrainMemory* drain = session.drain;
  const size_t end = tables_size();
  while (drain->tables_written < end) {
    const uint8_t* log = tables_log();  // not null, since the log has entries
    const size_t bytes = table_bytes_to_write(log, drain->tables_written, end);
    memcpy(drain->payload(), log + drain->tables_written, bytes);
    if (append(ChunkType::kTable, bytes) != 0) return false;
    drain->tables_written += bytes;
    session.tables_written = drain->tables_written;
  }
  trace::SessionBlock* block = session.writer.session();
  trace::store(&block->dropped_fact, tables_dropped() - drain->tables_dropped_before);
  return true;
}

void write_levels(uint64_t ticks, uint32_t levels, uint32_t round) {
  const trace::LevelsMark mark = {ticks, levels, round};
  memcpy(session.drain->payload(), &mark, sizeof mark);
  append(ChunkType::kLevels, sizeof mark);
}

int start_draining(const trace::FileHeader& header) {
  void* memory = mmap(nullptr, sizeof(DrainMemory), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  session.drain = new (memory) DrainMemory;
  session.drain->tables_dropped_before = tables_dropped();
  session.tables_written = 0;
  session.drain->anchors.begin(header.first, header.ticks_per_s);
  write_tables();

  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&session.wake, &clock);
  pthread_condattr_destroy(&clock);

  const int error = start_drainer_thread();
  if (error != 0) free_memory();
  return error;
}

int start_drainer_thread() {
  session.drainer_quits = false;
  const int error = start_own_thread(drainer_main, &session.drainer);
  session.has_drainer_thread = error == 0;
  return error;
}

void stop_drainer_thread() {
  lock_before_drainer(&session.lock);
  session.drainer_quits = true;
  pthread_cond_signal(&session.wake);
  pthread_mutex_unlock(&session.lock);
  if (session.has_drainer_thread) pthread_join(session.drainer, nullptr);
  session.has_drainer_thread = false;
}

void release_lane(Lane* lane) {
  // All of its records are in the ring, and the tables written now cover every one of them.
  OpenSpans open;
  snapshot_open(lane, &open);
  drain_lane(lane, open.head, write_tables());
  write_open(lane, open);
  trace::store(&lane->block->accepted_and_depth, lane->drained << LaneBlock::kDepthBits);
  __atomic_store_n(&lane->block->state, static_cast<uint32_t>(trace::LaneState::kFree),
                   __ATOMIC_RELEASE);
  lane->use.store(static_cast<uint32_t>(LaneUse::kFree), std::memory_order_release);
}

void drain_all() { pass(false); }

xsp_counts count_now() {
  xsp_counts counts = {};
  const trace::SessionBlock* block = session.writer.session();
  counts.dropped_file = trace::load(block->dropped_file);
  counts.clock_jumps = trace::load(block->clock_jumps);
  counts.dropped_ring = session.dropped_ring;
  counts.dropped_site = session.dropped_site;
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    const Lane* lane = session.lanes[i];
    if (!is_of_session(lane)) continue;
    counts.recorded += trace::load(lane->block->accepted_and_depth) >> LaneBlock::kDepthBits;
    counts.recorded += trace::load(lane->block->accepted_given);
    counts.dropped_ring += trace::load(lane->block->dropped_ring);
    counts.dropped_site += trace::load(lane->block->dropped_site);
  }
  return counts;
}

// Ends the recording for one lane, as the file sees it, whatever the lane's thread still does.
static void finish_lane(Lane* lane, xsp_counts* total) {
  OpenSpans open;
  snapshot_open(lane, &open);
  drain_lane(lane, open.head, write_tables());
  write_open(lane, open);
  total->recorded += lane->drained + lane->drained_given;
  total->dropped_ring += open.dropped_ring;
  total->dropped_site += open.dropped_site;
  if (lane->has_block == 0) return;
  LaneBlock last = {};
  last.lane = lane->number;
  last.thread = lane->thread;
  last.state = static_cast<uint32_t>(trace::LaneState::kFree);
  last.accepted_and_depth = lane->drained << LaneBlock::kDepthBits;
  last.accepted_given = lane->drained_given;
  last.dropped_ring = open.dropped_ring;
  last.dropped_site = open.dropped_site;
  trace::detach_block(lane);
  note_error(session.writer.write_page(&last, lane->block_offset));
}

static void leave_late_count() {
  if (session.late_page == nullptr) {
    void* page = mmap(nullptr, trace::kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    session.late_page = page;
  }
  trace::SessionBlock* block = session.writer.leave_session(session.late_page);
  if (block == nullptr) return;
  session.late.store(&block->late, std::memory_order_release);
  const uint64_t before = __atomic_exchange_n(&session.late_count, 0, __ATOMIC_RELAXED);
  __atomic_add_fetch(&block->late, before, __ATOMIC_RELAXED);
}

void finish_file(bool counts_late) {
  pass(true);
  xsp_counts total = {};
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    if (is_of_session(session.lanes[i])) finish_lane(session.lanes[i], &total);
  }
  publish_counts();
  trace::SessionBlock* block = session.writer.session();
  total.dropped_ring += trace::load(block->dropped_ring);
  total.dropped_site += trace::load(block->dropped_site);
  total.dropped_file = trace::load(block->dropped_file);
  total.clock_jumps = trace::load(block->clock_jumps);
  session.last_counts = total;
  trace::store(&block->state, static_cast<uint64_t>(trace::FileState::kComplete));
  note_error(session.writer.write_session());
  if (counts_late) leave_late_count();
  session.writer.close();
  pthread_cond_destroy(&session.wake);
  free_memory();
}

void forget_drainer() {
  if (session.drain != nullptr) free_memory();
}

}  // namespace xsp::process
