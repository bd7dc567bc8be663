// The recording of this process: its state, which emit.cc (the emitting threads), session.cc
// (start, stop, fork) and drain.cc (the drainer) share. There is one per process, in libxsp.so
// alone.
//
// The locks are taken in this order: control (one start or stop at a time), lock (everything below
// it), the lock of the tables. The drainer takes only `lock`; an emitting thread takes it with its
// first span.
#ifndef XSP_PROCESS_RECORD_SESSION_H_
#define XSP_PROCESS_RECORD_SESSION_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "process/record/watcher.h"
#include "shared/base/clock.h"
#include "shared/base/limits.h"
#include "shared/trace/ring.h"
#include "shared/trace/writer.h"
#include "xsp/xsp.h"

namespace xsp::process {

enum class State : uint32_t {
  kIdle = 0,
  kRecording = 1,
  kForked = 2,  // a child of a recording process; its first span creates its file
};

struct LossEntry {
  char source[kLossTextBytesMax];
  char cause[kLossTextBytesMax];
  uint64_t count;
};

// DrainMemory is the drainer's memory. It is mapped while a recording lasts.
struct DrainMemory;

struct Session {
  // Is even while recording, and changes with every start and stop. Emitting threads check it.
  std::atomic<uint32_t> generation{1};
  // Equals `generation` if ticks come from the time-stamp counter; otherwise it matches no lane.
  std::atomic<uint32_t> tsc_generation{UINT32_MAX};
  std::atomic<TickSource> tick_source{TickSource::kMonotonic};
  std::atomic<uint64_t> first_ticks{0};
  uint64_t ticks_per_s = 0;                // approximate; from the last recording
  std::atomic<int64_t> unix_offset_ns{0};  // UNIX time - CLOCK_MONOTONIC, for the whole recording

  alignas(64) pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> waiting{0};  // threads in lock_before_drainer()
  State state = State::kIdle;
  bool is_quiet = false;
  int process_id = 0;
  // The requested levels. xsp_recorded_levels is 0 while not recording. With a watcher it also has
  // the level model, because model calls are steps even if that level is not recorded.
  std::atomic<uint32_t> levels{0};
  // All levels that this recording has had so far, even if they are off now; 0 while not recording.
  // Other profilers hand their spans over later than they happened.
  std::atomic<uint32_t> given_levels{0};
  uint32_t round = 0;
  bool has_switched = false;  // the trace has marks that tell when which levels are recorded
  std::atomic<const Watcher*> watcher{nullptr};
  uint32_t ring_bytes = 0;
  uint64_t file_bytes = 0;
  char path[4096] = {};
  trace::Writer writer;
  trace::Lane* lanes[kLaneMax] = {};
  size_t lane_bytes[kLaneMax] = {};  // sizes of the mappings; a fork wipes the lanes themselves
  uint32_t lane_count = 0;
  uint32_t lane_numbers = 0;  // lanes of the file
  int first_error = 0;        // first errno value of a write

  pthread_t drainer = {};
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
  bool drainer_quits = false;
  bool has_drainer_thread = false;
  DrainMemory* drain = nullptr;

  LossEntry losses[kLossMax] = {};
  uint32_t loss_count = 0;
  bool losses_changed = false;
  std::atomic<uint64_t> dropped_value{0};  // lost values of spans; the blocks hold the other counts
  std::atomic<uint64_t> dropped_ring{0};   // spans of threads without a lane
  std::atomic<uint64_t> dropped_site{0};
  xsp_counts last_counts = {};  // from the last recording
  // The number of bytes of the log of sites and keys that are in the file.
  std::atomic<size_t> tables_written{0};
  // Threads count here the spans that they begin after the end of the recording and before the end
  // of the process; nullptr: they do not count. It first points to late_count, then into the file's
  // first page, which stays mapped at late_page.
  std::atomic<uint64_t*> late{nullptr};
  uint64_t late_count = 0;
  void* late_page = nullptr;
};
extern Session session;

// ---- session.cc: the functions of xsp.h ---------------------------------------------------------

int start(const xsp_options& options);
// `counts_late`: the process is about to end, and spans that its threads begin until then are
// counted.
int stop(bool counts_late);
// Between pause() and resume() the process has no drainer thread. No thread can start, stop or fork
// meanwhile.
void pause();
void resume();
void leave_descriptor(int number);
void flush();
int flush_within(uint32_t milliseconds);
// `round`: see trace::LevelsMark.
void set_levels(uint32_t levels, uint32_t round);
// Return the size of the file, and limit its further growth: see watcher.h.
uint64_t file_bytes();
void limit_file(uint64_t more_bytes);
void count_loss(const char* source, const char* cause, uint64_t count);
void get_counts(xsp_counts* counts);

// Writes the message once, unless this process is to be quiet: see base/log.h.
void complain(int* said, const char* what, int error, const char* consequence);
// Locks the mutex. A busy drainer, which would take the lock again at once, lets this thread go
// first.
void lock_before_drainer(pthread_mutex_t* mutex);
// Points to the calling thread's lane. It is valid only if its generation is the session's.
extern __thread trace::Lane* thread_lane __attribute__((tls_model("initial-exec")));
// Gives the calling thread a lane of this recording. Returns nullptr if nothing is recorded or no
// lane can be had.
trace::Lane* attach_thread();
// Writes new sites and keys to the file before a span begins: if the process dies in the span, its
// name is known. Takes `lock` if anything is new.
void write_new_tables();
// Sets xsp_recorded_levels.
void publish_levels(uint32_t levels);
// ---- steps.cc ----------------------------------------------------------------------------------

// A model call that a span stands for is about to begin, or has ended. Returns whether the call is
// a step. It is no step if there is no watcher, or if it lies within a step that a framework's
// observer has reported. But if the current step belongs to a span that was never ended
// (`is_after_another`), the call is a step.
bool begin_step_of_span(bool is_after_another);
void end_step_of_span();
// Resets the steps in the child of a fork: it counts its own.
void forget_steps();

// ---- drain.cc ----------------------------------------------------------------------------------

// These return 0 or an errno value. The caller holds `lock`, unless the comment says otherwise.
int start_draining(const trace::FileHeader& header);
// Stop and restart the drainer thread. The caller does not hold `lock`.
void stop_drainer_thread();
int start_drainer_thread();
// Drains the lane of a thread that ended, writes the spans that it left open, and frees the lane.
void release_lane(trace::Lane* lane);
// Returns false if some of the tables could not be written: spans that need them cannot be written,
// either.
bool write_tables();
// Writes into the file that these levels are recorded from that moment on.
void write_levels(uint64_t ticks, uint32_t levels, uint32_t round);
// Writes everything that was emitted before the call.
void drain_all();
xsp_counts count_now();
// Finishes a recording: drains the lanes, writes open spans, releases the blocks, closes the file.
void finish_file(bool counts_late);
// Forgets the drainer in the child of a fork.
void forget_drainer();

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_SESSION_H_
