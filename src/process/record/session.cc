// Starts and stops a recording, lets threads join it, and handles a fork.
//
// A child of fork records into its own file, <name>.<pid>.xtrace, which its first span creates: a
// child that calls exec leaves no file behind. The parent does not notice: the child's rings are
// wiped, not copied.
#include "process/record/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "process/record/environment.h"
#include "process/record/own_threads.h"
#include "process/record/tables.h"
#include "shared/base/keep_errno.h"
#include "shared/base/log.h"
#include "shared/base/no_cancel.h"

extern "C" {
uint32_t xsp_recorded_levels = 0;
}

namespace xsp::process {

using trace::Lane;
using trace::LaneUse;

constinit Session session;
__thread Lane* thread_lane __attribute__((tls_model("initial-exec"))) = nullptr;

void publish_levels(uint32_t levels) {
  const bool is_watched = session.watcher.load(std::memory_order_relaxed) != nullptr;
  const uint32_t always = is_watched ? XSP_LEVEL_BIT(XSP_LEVEL_MODEL) : 0;
  __atomic_store_n(&xsp_recorded_levels, levels | always, __ATOMIC_RELAXED);
}

void complain(int* said, const char* what, int error, const char* consequence) {
  if (!session.is_quiet) say_once(said, what, error, consequence);
}

void lock_before_drainer(pthread_mutex_t* mutex) {
  session.waiting.fetch_add(1, std::memory_order_relaxed);
  pthread_mutex_lock(mutex);
  session.waiting.fetch_sub(1, std::memory_order_relaxed);
}

namespace {

class Locked {
 public:
  explicit Locked(pthread_mutex_t* mutex) : mutex_(mutex) { lock_before_drainer(mutex_); }
  ~Locked() { pthread_mutex_unlock(mutex_); }

 private:
  NoCancel no_cancel_;
  pthread_mutex_t* mutex_;
};

pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t thread_end_key;

// The calling thread ends. Its lane will be drained and then given to another thread.
void on_thread_end(void* lane) {
  static_cast<Lane*>(lane)->use.store(static_cast<uint32_t>(LaneUse::kOrphaned),
                                      std::memory_order_release);
  thread_lane = nullptr;
}

void before_fork() {
  lock_before_drainer(&session.control);
  lock_before_drainer(&session.lock);
  lock_tables();
}

void after_fork_in_parent() {
  unlock_tables();
  pthread_mutex_unlock(&session.lock);
  pthread_mutex_unlock(&session.control);
}

void forget_counts() {
  session.first_error = 0;
  session.loss_count = 0;
  session.losses_changed = false;
  session.dropped_value = session.dropped_ring = session.dropped_site = 0;
}

// Only the calling thread survives a fork; the drainer does not.
void forget_parent() {
  session.process_id = getpid();
  session.writer.close();
  session.waiting = 0;
  forget_drainer();
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    trace::free_lane_memory(session.lanes[i], session.lane_bytes[i]);
  }
  session.lane_count = 0;
  session.late = nullptr;
  if (session.late_page != nullptr) munmap(session.late_page, trace::kPageBytes);
  session.late_page = nullptr;
  if (session.state == State::kRecording) session.state = State::kForked;
  session.first_ticks = read_ticks(session.tick_source);  // earlier spans belong to the parent
  forget_counts();
  forget_steps();
  // A child that records nothing yet has no drainer to switch its levels: its first span creates
  // the file, and then the levels are set.
  const Watcher* watcher = session.watcher;
  if (session.state == State::kForked && watcher != nullptr) {
    publish_levels(watcher->levels);
    session.given_levels = watcher->levels;
  }
  thread_lane = nullptr;
  pthread_setspecific(thread_end_key, nullptr);
}

void after_fork_in_child() {
  forget_parent();
  after_fork_in_parent();
}

void prepare_process() {
  session.process_id = getpid();
  pthread_key_create(&thread_end_key, on_thread_end);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// Handles a child that was made without the C library's fork: no handlers ran for it.
void notice_unannounced_fork() {
  if (session.process_id == getpid()) return;
  pthread_mutex_init(&session.control, nullptr);
  pthread_mutex_init(&session.lock, nullptr);
  reset_tables_lock();
  forget_parent();
}

// Returns whether the lane is drained and unowned, or of a thread of an earlier recording.
bool is_free(const Lane* lane) {
  return lane->use == static_cast<uint32_t>(LaneUse::kFree) ||
         (lane->use == static_cast<uint32_t>(LaneUse::kOrphaned) &&
          lane->generation != session.generation);
}

// Keeps the rings of earlier recordings that this recording can use, and frees the others.
void drop_unfit_lanes() {
  const uint32_t slots = session.ring_bytes / trace::kSlotBytes;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    Lane* lane = session.lanes[i];
    if (is_free(lane) && lane->mask + 1 != slots) {
      trace::free_lane_memory(lane, session.lane_bytes[i]);
    } else {
      session.lane_bytes[kept] = session.lane_bytes[i];
      session.lanes[kept++] = lane;
    }
  }
  session.lane_count = kept;
}

// Measures the rough tick rate: a reader needs it if the process dies before a second anchor.
uint64_t measure_ticks_per_s(const Anchor& first) {
  if (session.tick_source == TickSource::kMonotonic) return 1'000'000'000;
  Anchor now;
  do {
    now = sample_anchor(session.tick_source);
  } while (now.monotonic_ns - first.monotonic_ns < 1'000'000);
  const double elapsed_s = static_cast<double>(now.monotonic_ns - first.monotonic_ns) * 1e-9;
  return static_cast<uint64_t>(static_cast<double>(now.ticks - first.ticks) / elapsed_s);
}

int open_file(const trace::FileHeader& header) {
  const int error = session.writer.open(session.path, header, session.file_bytes);
  if (error != EBUSY) return error;
  // Another process with the same environment records to that file. Leave its file alone.
  char own[sizeof session.path];
  if (!path_of_process(session.path, session.process_id, own, sizeof own)) return ENAMETOOLONG;
  memcpy(session.path, own, sizeof own);
  return session.writer.open(session.path, header, session.file_bytes);
}

// Creates the file session.path and starts the drainer. The caller holds both locks, or there is
// only one thread.
int begin_recording(bool keeps_time_of_parent) {
  session.tick_source = tick_source_to_use();
  trace::FileHeader header = {};
  memcpy(header.magic, trace::kFileMagic, sizeof header.magic);
  header.byte_order = trace::kByteOrder;
  header.version = trace::kFormatVersion;
  header.process_id = static_cast<uint32_t>(session.process_id);
  header.tick_source = static_cast<uint32_t>(session.tick_source.load());
  header.first = sample_anchor(session.tick_source);
  if (keeps_time_of_parent) {
    header.first.realtime_ns = header.first.monotonic_ns + session.unix_offset_ns.load();
  }
  drop_unfit_lanes();
  // A child need not wait for a measurement: it has the parent's clock.
  const bool is_known = keeps_time_of_parent && session.ticks_per_s != 0;
  header.ticks_per_s = is_known ? session.ticks_per_s : measure_ticks_per_s(header.first);
  session.ticks_per_s = header.ticks_per_s;
  int error = open_file(header);
  if (error != 0) return error;
  session.unix_offset_ns = header.first.realtime_ns - header.first.monotonic_ns;
  session.first_ticks = header.first.ticks;
  forget_counts();
  session.lane_numbers = 0;
  error = start_draining(header);
  if (error != 0) {
    session.writer.close();
    unlink(session.path);
    return error;
  }
  session.state = State::kRecording;
  const uint32_t generation = (session.generation.load() | 1) + 1;
  session.generation = generation;
  session.tsc_generation = session.tick_source == TickSource::kTsc ? generation : UINT32_MAX;
  const Watcher* watcher = session.watcher;
  if (keeps_time_of_parent && watcher != nullptr) session.levels = watcher->levels_of_child();
  if (keeps_time_of_parent && session.has_switched) {
    write_levels(session.first_ticks, session.levels, 0);
  }
  publish_levels(session.levels);
  session.given_levels = session.levels.load();
  return 0;
}

bool is_power_of_two(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

int start_locked(const xsp_options& options) {
  if (session.state != State::kIdle) return session.watcher.load() != nullptr ? 0 : EALREADY;
  if (is_disabled()) return 0;
  session.levels = levels_to_record(options.levels);
  if (session.levels == 0) return EINVAL;
  const uint32_t ring = options.ring_bytes != 0 ? options.ring_bytes : kRingBytesDefault;
  if (!is_power_of_two(ring) || ring < kRingBytesMin || ring > kRingBytesMax) return EINVAL;
  session.ring_bytes = ring;
  session.has_switched = false;
  session.round = 0;
  session.file_bytes = options.file_bytes;
  if (!path_to_record(options.path, session.process_id, session.path, sizeof session.path)) {
    return ENAMETOOLONG;
  }
  return begin_recording(false);
}

// From here on no thread begins a span; spans that are open may still end.
void become_idle(bool counts_late) {
  // A thread that begins a span from now on finds nothing recorded, and counts it here.
  session.late = counts_late ? &session.late_count : nullptr;
  if (!counts_late) {
    session.given_levels = 0;
    __atomic_store_n(&xsp_recorded_levels, 0, __ATOMIC_RELAXED);
  }
  session.generation = session.generation.load() | 1;
  session.tsc_generation = UINT32_MAX;
  session.state = State::kIdle;
}

// Returns the thread's lane of an earlier recording, a free lane, or a new one.
Lane* find_lane() {
  const uint32_t slots = session.ring_bytes / trace::kSlotBytes;
  Lane* lane = thread_lane;
  if (lane != nullptr && lane->mask + 1 == slots) return lane;
  if (lane != nullptr) lane->use = static_cast<uint32_t>(LaneUse::kFree);
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    Lane* other = session.lanes[i];
    if (is_free(other) && other->mask + 1 == slots) return other;
  }
  // A program that makes many short threads needs no new memory for each.
  for (uint32_t i = 0; i < session.lane_count; ++i) {
    Lane* other = session.lanes[i];
    if (other->use.load(std::memory_order_acquire) == static_cast<uint32_t>(LaneUse::kOrphaned) &&
        other->mask + 1 == slots) {
      release_lane(other);
      return other;
    }
  }
  if (session.lane_count == kLaneMax) return nullptr;
  lane = trace::make_lane(session.ring_bytes);
  if (lane == nullptr) return nullptr;
  session.lane_bytes[session.lane_count] = lane->mapped_bytes;
  session.lanes[session.lane_count++] = lane;
  return lane;
}

// Puts the lane's block into the file. If that fails, the block stays in memory: its counts are
// kept, but are lost with the process.
void give_block(Lane* lane) {
  *lane->block = {};
  lane->number = ++session.lane_numbers;
  lane->block->lane = lane->number;
  bool is_mapped = false;
  const int error =
      session.writer.append_lane(lane->block, *lane->block, &lane->block_offset, &is_mapped);
  lane->has_block = error == 0 ? 1 : 0;
  lane->is_mapped = is_mapped ? 1 : 0;
  if (error != 0 && session.first_error == 0) session.first_error = error;
}

void join_recording(Lane* lane) {
  const uint32_t generation = session.generation.load(std::memory_order_relaxed);
  if (lane->generation.load(std::memory_order_relaxed) != generation) {
    // Records that the thread wrote while the last recording stopped belong to no recording.
    lane->tail.store(lane->head.load(std::memory_order_relaxed), std::memory_order_relaxed);
    lane->limit = lane->head.load(std::memory_order_relaxed) + lane->mask + 1;
    lane->drained = lane->drained_given = 0;
    give_block(lane);
  }
  lane->pending_used = 0;
  lane->model_start = 0;
  lane->thread = static_cast<uint32_t>(gettid());
  lane->block->thread = lane->thread;
  lane->block->state = static_cast<uint32_t>(trace::LaneState::kLive);
  lane->use = static_cast<uint32_t>(LaneUse::kThread);
  lane->generation.store(generation, std::memory_order_relaxed);
}

// Installs the fork handlers and the thread-end key, once per process.
void prepare() {
  pthread_once(&once, prepare_process);
  notice_unannounced_fork();
}

}  // namespace

int start(const xsp_options& options) {
  KeepErrno keep_errno;
  prepare();
  Locked control(&session.control);
  Locked locked(&session.lock);
  return start_locked(options);
}

int stop(bool counts_late) {
  KeepErrno keep_errno;
  // A process that has forbidden itself system calls ended its recording before it did so.
  State now = State::kIdle;
  __atomic_load(&session.state, &now, __ATOMIC_RELAXED);
  if (now == State::kIdle) return 0;
  NoCancel no_cancel;
  prepare();
  Locked control(&session.control);
  {
    Locked locked(&session.lock);
    if (session.state == State::kForked) become_idle(false);
    if (session.state != State::kRecording) return 0;
    become_idle(counts_late);
  }
  stop_drainer_thread();
  Locked locked(&session.lock);
  finish_file(counts_late);
  return session.first_error;
}

void pause() {
  KeepErrno keep_errno;
  NoCancel no_cancel;
  prepare();
  lock_before_drainer(&session.control);
  if (session.state == State::kRecording) stop_drainer_thread();
  wait_for_ended_threads();
}

void resume() {
  KeepErrno keep_errno;
  NoCancel no_cancel;
  // If the thread cannot start, emitted spans stay in the rings until a flush or the end.
  if (session.state == State::kRecording) (void)start_drainer_thread();
  pthread_mutex_unlock(&session.control);
}

void flush() {
  KeepErrno keep_errno;
  prepare();
  Locked locked(&session.lock);
  if (session.state == State::kRecording) drain_all();
}

int flush_within(uint32_t milliseconds) {
  KeepErrno keep_errno;
  NoCancel no_cancel;
  prepare();
  timespec limit = {};
  clock_gettime(CLOCK_REALTIME, &limit);
  const int64_t ns = limit.tv_nsec + int64_t{milliseconds} * 1'000'000;
  limit.tv_sec += ns / 1'000'000'000;
  limit.tv_nsec = ns % 1'000'000'000;
  session.waiting.fetch_add(1, std::memory_order_relaxed);
  const int error = pthread_mutex_timedlock(&session.lock, &limit);
  session.waiting.fetch_sub(1, std::memory_order_relaxed);
  if (error != 0) return error;
  if (session.state == State::kRecording) drain_all();
  pthread_mutex_unlock(&session.lock);
  return 0;
}

void set_levels(uint32_t levels, uint32_t round) {
  KeepErrno keep_errno;
  prepare();
  Locked locked(&session.lock);
  const bool is_new = levels != session.levels || round != session.round;
  if (session.state == State::kRecording && is_new) {
    if (!session.has_switched) write_levels(session.first_ticks, session.levels, 0);
    session.has_switched = true;
    write_levels(read_ticks(session.tick_source), levels, round);
  }
  session.levels = levels;
  session.round = round;
  if (session.state != State::kIdle) {
    publish_levels(levels);
    session.given_levels |= levels;
  }
}

uint64_t file_bytes() {
  Locked locked(&session.lock);
  return session.state == State::kRecording ? session.writer.size_bytes() : 0;
}

void limit_file(uint64_t more_bytes) {
  KeepErrno keep_errno;
  Locked locked(&session.lock);
  if (session.state != State::kRecording) return;
  const bool is_none = more_bytes == UINT64_MAX;
  session.writer.limit(is_none ? session.file_bytes : session.writer.size_bytes() + more_bytes);
}

void write_new_tables() {
  const bool is_idle = (session.generation.load(std::memory_order_relaxed) & 1) != 0;
  if (is_idle || tables_size() <= session.tables_written.load(std::memory_order_relaxed)) return;
  KeepErrno keep_errno;
  Locked locked(&session.lock);
  if (session.state == State::kRecording) write_tables();
}

Lane* attach_thread() {
  KeepErrno keep_errno;
  static int said_no_ring = 0;
  prepare();
  Locked locked(&session.lock);
  if (session.state == State::kForked) {
    char path[sizeof session.path];
    const bool fits = path_of_process(session.path, session.process_id, path, sizeof path);
    if (fits) memcpy(session.path, path, sizeof path);
    const int error = fits ? begin_recording(true) : ENAMETOOLONG;
    if (error != 0) {
      static int said_no_child = 0;
      complain(&said_no_child, "cannot record this child process", error, "it is not recorded");
      const Watcher* watcher = session.watcher;
      if (watcher != nullptr) watcher->on_unrecorded(error);
      become_idle(false);
    }
  }
  if (session.state != State::kRecording) return nullptr;
  Lane* lane = find_lane();
  if (lane == nullptr) {
    complain(&said_no_ring, "no memory for the ring of a thread", ENOMEM,
             "its spans are counted and dropped");
    return nullptr;
  }
  join_recording(lane);
  thread_lane = lane;
  pthread_setspecific(thread_end_key, lane);
  return lane;
}

void count_loss(const char* source, const char* cause, uint64_t count) {
  KeepErrno keep_errno;
  prepare();
  Locked locked(&session.lock);
  if (session.state != State::kRecording || count == 0) return;
  LossEntry wanted = {};
  strncpy(wanted.source, source != nullptr ? source : "", sizeof wanted.source - 1);
  strncpy(wanted.cause, cause != nullptr ? cause : "", sizeof wanted.cause - 1);
  uint32_t i = 0;
  while (i < session.loss_count && (strcmp(session.losses[i].source, wanted.source) != 0 ||
                                    strcmp(session.losses[i].cause, wanted.cause) != 0)) {
    ++i;
  }
  if (i == kLossMax) i = kLossMax - 1;  // the last entry takes all without an entry of their own
  if (i == session.loss_count) {
    session.losses[session.loss_count++] = wanted;
  }
  session.losses[i].count += count;
  session.losses_changed = true;
}

void get_counts(xsp_counts* counts) {
  KeepErrno keep_errno;
  Locked locked(&session.lock);
  xsp_counts now = session.state == State::kRecording ? count_now() : session.last_counts;
  const size_t size = counts->struct_size < sizeof now ? counts->struct_size : sizeof now;
  now.struct_size = counts->struct_size;
  memcpy(counts, &now, size);
}

}  // namespace xsp::process

// Keeps the spans of a program that ends without calling xsp_stop.
__attribute__((destructor)) static void stop_at_exit() { xsp::process::stop(true); }
