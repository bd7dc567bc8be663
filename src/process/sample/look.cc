#include "process/sample/look.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "process/record/watcher.h"
#include "shared/base/clock.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

using trace::LockState;
using trace::ThreadDoes;

// A lock's futexes lie within this many bytes from its beginning.
constexpr uint64_t kLockBytes = 256;
// The kernel notes a running thread within this time, unless the thread is in the kernel.
constexpr int64_t kNoteWithinNs = 500'000;
// Python is still at the same place within this time after a note.
constexpr int64_t kFreshNs = 300'000;
// Most threads have a note within this time.
constexpr long kLikelyNoteNs = 250'000;
// A note with a stack takes 20 KiB of locked memory, and the kernel allows 516 KiB per processor.
constexpr size_t kStacksPerProcessor = 16;
// The frames of a running thread change while they are read: they are read up to this many times.
constexpr int kWalksMax = 4;
// The function in which a program begins is smaller than this.
constexpr uint64_t kEntryBytes = 64;

bool is_running(const SampledThread& thread) {
  return thread.does == ThreadDoes::kRuns || thread.does == ThreadDoes::kQueues;
}

}  // namespace

void Looker::prepare(const PythonSymbols& python) {
  python_ = python;
  log_.begin();
  unwinder_.begin(&own_, &modules_);
}

void Looker::end() { unwinder_.end(); }

void Looker::begin() {
  if (!own_.begin()) {
    xsp_count_loss("stacks", "memory that may not be read", 1);
  } else if (walk_.begin(&own_, python_)) {
    find_id_offset();
  } else if (python_.runtime != 0) {
    xsp_count_loss("stacks", "Python of an unknown version", 1);
  }
  threads_.begin();
  modules_.refresh(clock_ns(CLOCK_MONOTONIC), add_module, this);
  entry_ = getauxval(AT_ENTRY);
  uint64_t start = 0;
  const bool has_evaluate = unwinder_.is_on() && python_.evaluate != 0;
  if (!has_evaluate || !unwinder_.find_function(python_.evaluate, &start, &evaluate_end_)) {
    evaluate_end_ = python_.evaluate;
  }
}

// Before Python 3.11 an interpreter knows its threads by the C library's thread structures. A
// thread's number lies in them at the same offset at which this thread finds its own.
void Looker::find_id_offset() {
  constexpr uint64_t kFirst = 256;
  constexpr uint64_t kLast = 1280;
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  const int32_t tid = gettid();
  for (uint64_t offset = kFirst; offset < kLast; offset += sizeof tid) {
    int32_t there = 0;
    if (!own_.read(self + offset, &there)) return;
    if (there != tid) continue;
    id_offset_ = offset;
    return;
  }
}

int32_t Looker::tid_of(const PythonThread& thread) const {
  if (thread.native_id != 0) return thread.native_id;
  int32_t tid = 0;
  if (id_offset_ == 0 || thread.id == 0) return 0;
  return own_.read(thread.id + id_offset_, &tid) ? tid : 0;
}

// Returns the node of the innermost frame in frames_. Counting from the outermost frame, the frames
// that have not moved since the last look keep their nodes; the code of the others is read.
uint32_t Looker::name_frames(const SampledThread& thread, size_t count) {
  size_t left = count;
  size_t known = thread.frame_count;
  uint32_t node = 0;
  while (left > 0 && known > 0 && !walk_.is_cut()) {
    const PythonFrame& before = thread.frames[known - 1];
    if (before.node == 0 || !before.is_at_same(frames_[left - 1])) break;
    node = frames_[left - 1].node = before.node;
    --left;
    --known;
  }
  // If the code of a frame cannot be read, its callees are left out as well.
  const size_t readable = walk_.read_codes(frames_, left, codes_);
  while (left-- > readable) {
    const uint32_t below = log_.node_of(walk_, node, frames_[left], codes_[left]);
    if (below == 0) break;
    node = frames_[left].node = below;
  }
  return node;
}

void Looker::look_at_python(const PythonThread& python, SampledThread* thread) {
  const bool waits = thread->does == ThreadDoes::kWaits;
  thread->lock = LockState::kNone;
  if (waits && thread->wait >= python.lock && thread->wait < python.lock + kLockBytes) {
    thread->lock = LockState::kWanted;
  } else if (python.holds_lock) {
    thread->lock = LockState::kHeld;
  }
  if (!thread->has_moved) return;
  PythonThread now = python;
  size_t count = 0;
  for (int walks = 1;; ++walks) {
    count = walk_.walk(now, thread->frames, thread->frame_count, frames_);
    thread->node = name_frames(*thread, count);
    const bool is_whole = thread->node != 0 && !walk_.is_broken();
    if (is_whole || walks == kWalksMax || !walk_.refresh(&now)) break;
  }
  if (walk_.is_cut()) ++cut_;
  memcpy(thread->frames, frames_, count * sizeof frames_[0]);
  thread->frame_count = count;
  thread->is_python = thread->node != 0;
}

void Looker::look_at_all_python() {
  walk_.look();
  for (size_t i = 0; i < walk_.thread_count(); ++i) {
    const PythonThread& python = walk_.threads()[i];
    SampledThread* thread = threads_.find(tid_of(python));
    if (thread != nullptr) look_at_python(python, thread);
  }
}

void Looker::add_module(void* context, uint32_t index, const char* path) {
  Looker& self = *static_cast<Looker*>(context);
  self.log_.define_module(index, self.modules_[index], path);
  self.unwinder_.forget_tables();
}

int Looker::module_of(uint64_t address) {
  const int module = modules_.find(address);
  if (module >= 0) return module;
  modules_.refresh(clock_ns(CLOCK_MONOTONIC), add_module, this);
  return modules_.find(address);
}

bool Looker::is_of_python(int module) const {
  const Module& in = modules_[static_cast<size_t>(module)];
  return in.start <= python_.evaluate && python_.evaluate < in.end;
}

// Returns whether the frame belongs to the code from which the C library calls the program or a
// thread.
bool Looker::is_of_start(const NativeFrame& frame) const {
  const int module = modules_.find(frame.address - 1);
  const int library = modules_.find(reinterpret_cast<uint64_t>(&::getauxval));
  return frame.address - entry_ < kEntryBytes || (module >= 0 && module == library);
}

// Reads the frames of compiled code into natives_, without those that start a thread. Returns their
// number.
size_t Looker::read_natives(SampledThread* thread, const NativeStart& start) {
  const uint64_t stop = thread->is_python ? python_.evaluate : 0;
  size_t count = unwinder_.unwind(start, stop, thread->is_python ? evaluate_end_ : 0,
                                  thread->natives, thread->native_count, natives_);
  memcpy(thread->natives, natives_, count * sizeof natives_[0]);
  thread->native_count = count;
  if (thread->is_python) return count;
  size_t kept = count;
  while (kept > 0 && is_of_start(natives_[kept - 1])) --kept;
  return kept > 0 ? kept : count;
}

// Adds the functions of compiled code. In a Python thread the interpreter's own functions are left
// out: the Python frames stand for them.
void Looker::add_natives(SampledThread* thread, const NativeStart& start) {
  const uint64_t address = start.registers[kProgramCounter];
  if (thread->is_python && python_.evaluate == 0) return;
  if (module_of(address) < 0) return;
  size_t count = 0;
  if (unwinder_.is_on() && (start.known >> kStackPointer & 1) != 0) {
    count = read_natives(thread, start);
  } else {
    natives_[0] = {address, 0};
    count = 1;
  }
  while (count-- > 0) {
    // The caller's call instruction lies before its return address.
    const uint64_t place = natives_[count].address - (natives_[count].address == address ? 0 : 1);
    const int module = module_of(place);
    if (module < 0 || (thread->is_python && is_of_python(module))) continue;
    const Module& in = modules_[static_cast<size_t>(module)];
    thread->node = log_.native_node_of(thread->node, static_cast<uint32_t>(module),
                                       in.offset + (place - in.start));
  }
}

void Looker::look_at_native(SampledThread* thread) {
  if (is_running(*thread)) {
    if (!latest_note(&thread->clock, &note_)) return;
    thread->awaits_note = false;
    const bool is_fresh = clock_ns(CLOCK_MONOTONIC) - note_.time_ns < kFreshNs;
    if (is_fresh || !thread->is_python) add_natives(thread, note_.start);
    return;
  }
  if (thread->lock == LockState::kWanted || thread->counter == 0) return;
  NativeStart start = {};
  start.registers[kProgramCounter] = thread->counter;
  start.registers[kStackPointer] = thread->stack;
  start.known = 1u << kProgramCounter | (thread->stack != 0 ? 1u << kStackPointer : 0);
  add_natives(thread, start);
}

// A thread that was in the queue for a processor, or in the kernel, gets its note when it goes on,
// which is at the place where it was at the look.
void Looker::complete_look() {
  if (!is_pending_) return;
  is_pending_ = false;
  SampledThread* threads = threads_.threads();
  for (size_t i = 0; i < threads_.count(); ++i) {
    if (!threads[i].awaits_note || !latest_note(&threads[i].clock, &note_)) continue;
    threads[i].awaits_note = false;
    add_natives(&threads[i], note_.start);
  }
  log_.add_look(looked_ns_, lasted_ns_, threads, threads_.count());
}

// The notes take less locked memory than the kernel always allows for them: the program's own limit
// stays for the program.
bool Looker::has_room_for_stack() {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t count = 0;
  for (size_t i = 0; i < threads_.count(); ++i) {
    count += threads_.threads()[i].clock.has_stack ? 1 : 0;
  }
  return count < kStacksPerProcessor * static_cast<size_t>(processors > 0 ? processors : 1);
}

void Looker::ask_for_note(SampledThread* thread) {
  if (refusal_ != 0) return;
  if (!thread->clock.is_tried && !open_clock(&thread->clock, thread->tid, has_room_for_stack())) {
    if (errno == EACCES || errno == EPERM) refusal_ = errno;
    if (errno == ENOMEM || errno == EMFILE) ++crowded_;
  }
  thread->awaits_note = ask_clock(&thread->clock);
  if (!thread->awaits_note || thread->does != ThreadDoes::kRuns) return;
  ++asked_count_;
  if (thread->frame_count > 0 && awaited_count_ < kAwaitedMax) awaited_[awaited_count_++] = thread;
}

// Waits until the Python threads have their notes; without such threads, until all are likely to
// have them.
void Looker::await_notes() {
  if (asked_count_ == 0) return;
  const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kNoteWithinNs;
  if (awaited_count_ == 0) {
    const timespec wait = {0, kLikelyNoteNs};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
  }
  while (awaited_count_ > 0) {
    pollfd files[kAwaitedMax] = {};
    for (size_t i = 0; i < awaited_count_; ++i) files[i] = {awaited_[i]->clock.file, POLLIN, 0};
    const int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
    const timespec wait = {0, left_ns};
    if (left_ns <= 0 || ppoll(files, awaited_count_, &wait, nullptr) <= 0) return;
    size_t kept = 0;
    for (size_t i = 0; i < awaited_count_; ++i) {
      if (!has_note(awaited_[i]->clock)) awaited_[kept++] = awaited_[i];
    }
    awaited_count_ = kept;
  }
}

void Looker::look_at_threads(int32_t sampler) {
  asked_count_ = awaited_count_ = 0;
  threads_.look(sampler);
  SampledThread* threads = threads_.threads();
  for (size_t i = 0; i < threads_.count(); ++i) {
    threads[i].awaits_note = false;
    if (is_running(threads[i])) ask_for_note(&threads[i]);
  }
  await_notes();
}

void Looker::look_at_stacks(int64_t now_ns, int64_t duration_ns) {
  is_pending_ = true;
  looked_ns_ = now_ns;
  lasted_ns_ = duration_ns;
  SampledThread* threads = threads_.threads();
  bool has_moved = false;
  for (size_t i = 0; i < threads_.count(); ++i) {
    if (!threads[i].has_moved) continue;
    has_moved = true;
    threads[i].call_text = log_.text_of_call(threads[i].call);
    threads[i].node = 0;
    threads[i].lock = LockState::kNone;
    threads[i].is_python = false;
  }
  if (!has_moved) return;
  if (walk_.is_on()) look_at_all_python();
  for (size_t i = 0; i < threads_.count(); ++i) {
    if (threads[i].has_moved) look_at_native(&threads[i]);
  }
}

void Looker::tell_losses() const {
  if (cut_ > 0) xsp_count_loss("stacks", "stack deeper than is kept", cut_);
  if (threads_.dropped() > 0) {
    xsp_count_loss("stacks", "look at a thread beyond those kept", threads_.dropped());
  }
  if (crowded_ > 0) {
    xsp_count_loss("stacks", "thread without compiled code, as no locked memory or file was left",
                   crowded_);
  }
}

}  // namespace xsp::process
