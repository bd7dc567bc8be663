// The recording of this process: its state, shared by emit.cc (the emitting threads), session.cc
// (start, stop, fork) and drain.cc (the drainer). There is one per process, in libxsp.so alone.
//
// Locks, taken in this order: control (one start or stop at a time), lock (all that follows), the
// tables' own. The drainer takes `lock` alone; an emitting thread takes it with its first span.
#ifndef XSP_CAPTURE_ANNOTATE_SESSION_H_
#define XSP_CAPTURE_ANNOTATE_SESSION_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/limits.h"
#include "capture/annotate/watcher.h"
#include "trace/ring.h"
#include "trace/writer.h"
#include "xsp/xsp.h"

namespace xsp::capture {

enum class State : uint32_t {
  kIdle = 0,
  kRecording = 1,
  kForked = 2,  // the child of a process that records: its file is made with its first span
};

struct LossEntry {
  char source[kLossTextBytesMax];
  char cause[kLossTextBytesMax];
  uint64_t count;
};

// Memory of the drainer, mapped for the time of a recording.
struct DrainMemory;

struct Session {
  // Even while recording; changes with every start and stop. What emitting threads look at.
  std::atomic<uint32_t> generation{1};
  // The same where ticks are the time-stamp counter's; no lane's otherwise.
  std::atomic<uint32_t> tsc_generation{UINT32_MAX};
  std::atomic<TickSource> tick_source{TickSource::kMonotonic};
  std::atomic<uint64_t> first_ticks{0};
  uint64_t ticks_per_s = 0;                // roughly, of the last recording
  std::atomic<int64_t> unix_offset_ns{0};  // UNIX time - CLOCK_MONOTONIC, for the whole recording

  alignas(64) pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> waiting{0};  // threads in lock_before_drainer()
  State state = State::kIdle;
  bool is_quiet = false;
  int process_id = 0;
  // Asked for. xsp_recorded_levels is 0 while not recording; where there is a watcher it has the
  // level model besides, as calls of a model are steps whatever is recorded.
  std::atomic<uint32_t> levels{0};
  // Those of this recording so far, switched off or not; 0 while not recording. What others
  // measured is handed over later than it happened.
  std::atomic<uint32_t> given_levels{0};
  uint32_t round = 0;
  bool has_switched = false;  // the trace says from when on which levels are recorded
  std::atomic<const Watcher*> watcher{nullptr};
  uint32_t ring_bytes = 0;
  uint64_t file_bytes = 0;
  char path[4096] = {};
  trace::Writer writer;
  trace::Lane* lanes[kLaneMax] = {};
  size_t lane_bytes[kLaneMax] = {};  // of the mapping; the lane itself is wiped by a fork
  uint32_t lane_count = 0;
  uint32_t lane_numbers = 0;  // lanes of the file
  int first_error = 0;        // that writing met

  pthread_t drainer = {};
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
  bool drainer_quits = false;
  bool has_drainer_thread = false;
  DrainMemory* drain = nullptr;

  LossEntry losses[kLossMax] = {};
  uint32_t loss_count = 0;
  bool losses_changed = false;
  std::atomic<uint64_t> dropped_value{0};  // values of spans; the other counts are in the blocks
  std::atomic<uint64_t> dropped_ring{0};   // of threads without a lane
  std::atomic<uint64_t> dropped_site{0};
  xsp_counts last_counts = {};  // of the last recording
  // So many bytes of the log of sites and keys are in the file.
  std::atomic<size_t> tables_written{0};
  // Threads count here the spans that they begin between the end of the recording and that of the
  // process; nullptr: nobody counts. It points to late_count first, then into the file's first
  // page, which stays mapped at late_page.
  std::atomic<uint64_t*> late{nullptr};
  uint64_t late_count = 0;
  void* late_page = nullptr;
};
extern Session session;

// ---- session.cc: what xsp.h promises -----------------------------------------------------------

int start(const xsp_options& options);
// `counts_late`: the process is about to end, and what its threads begin until then is counted.
int stop(bool counts_late);
// The process is without the drainer's thread from one to the other. Nobody starts, stops or forks
// meanwhile.
void pause();
void resume();
void leave_descriptor(int number);
void flush();
int flush_within(uint32_t milliseconds);
// `round`: see trace::LevelsMark.
void set_levels(uint32_t levels, uint32_t round);
// The size of the file, and by how much it may grow: see watcher.h.
uint64_t file_bytes();
void limit_file(uint64_t more_bytes);
void count_loss(const char* source, const char* cause, uint64_t count);
void get_counts(xsp_counts* counts);

// Says it once, unless this process is to be quiet: see base/log.h.
void complain(int* said, const char* what, int error, const char* consequence);
// Locks; a busy drainer, which would take the lock again at once, lets the thread go first.
void lock_before_drainer(pthread_mutex_t* mutex);
// The calling thread's lane, if its generation is the session's.
extern __thread trace::Lane* thread_lane __attribute__((tls_model("initial-exec")));
// Gives the calling thread a lane of this recording; nullptr if nothing is recorded, or none can be
// had.
trace::Lane* attach_thread();
// Brings the tables of sites and keys to the file, for a span about to begin: should the process
// die in it, its name is known. Takes `lock`, if anything is new.
void write_new_tables();
// Gives xsp_recorded_levels its value.
void publish_levels(uint32_t levels);
// ---- steps.cc ----------------------------------------------------------------------------------

// A call of a model is about to begin, or has ended, that a span stands for. Whether it is a step:
// it is not where nobody asks, nor within a step that who watches a framework has told of, unless
// the step under way is that of a span which was never ended (`is_after_another`).
bool begin_step_of_span(bool is_after_another);
void end_step_of_span();
// In the child of a fork: its steps are its own.
void forget_steps();

// ---- drain.cc ----------------------------------------------------------------------------------

// Return 0 or an errno value; `lock` is held, unless it says otherwise.
int start_draining(const trace::FileHeader& header);
// Stops the drainer's thread, and has it again; `lock` is not held.
void stop_drainer_thread();
int start_drainer_thread();
// Drains the lane of a thread that ended, writes the spans that it left open, and frees the lane.
void release_lane(trace::Lane* lane);
// False if some of the tables could not be written: spans that need them cannot be, either.
bool write_tables();
// Says in the file that these levels are recorded from that moment on.
void write_levels(uint64_t ticks, uint32_t levels, uint32_t round);
// Writes all that was emitted before the call.
void drain_all();
xsp_counts count_now();
// The last of a recording: drains, writes open spans, lets go of the blocks, closes the file.
void finish_file(bool counts_late);
// In the child of a fork: forgets the drainer.
void forget_drainer();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ANNOTATE_SESSION_H_
