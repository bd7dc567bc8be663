// libxsp-attach.so: what `xsp run` puts into every process of the command that it watches.
//
// It comes by LD_PRELOAD and records from before main() to the end, into a file of its own in the
// folder that $XSP_RUN names. The whole process is one span of the level application. What else is
// recorded comes from others, through xsp.h: the program itself, the Python package, collectors
// (collectors.h), which are loaded when the process first uses what they watch (cuda.cc).
//
// Like libxsp.so it needs the C library alone, throws and aborts nothing, and leaves errno as it
// was. In processes that `xsp run` did not start, $XSP_RUN is not set, and it does nothing.
#include "capture/attach/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/keep_errno.h"
#include "base/no_cancel.h"
#include "capture/annotate/watcher.h"
#include "capture/attach/collectors.h"
#include "capture/attach/control.h"
#include "capture/attach/nvtx.h"
#include "capture/attach/run_folder.h"
#include "capture/sample/sampler.h"
#include "xsp/xsp.h"

namespace xsp::capture {
namespace {

// Its pages are taken at once, by every process, most of which are short: a tenth of a second at a
// span every 3 us, which is more than Python emits, and the ring is drained many times meanwhile.
constexpr uint32_t kRingBytes = 1u << 20;
constexpr uint32_t kLockWaitMs = 1000;
constexpr size_t kCommandBytesMax = 4000;  // a text of the trace has room for 4096

struct Attached {
  std::atomic<bool> is_recording{false};
  bool uses_cuda = false;
  pid_t process = 0;  // that `span` is of
  uint32_t site = 0;
  int64_t start_ns = 0;
  xsp_span span = {};
  uint32_t parent_key = 0;
};
Attached attached;

const char* run_folder() {
  const char* folder = getenv(kRunFolderVariable);
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

// The command's words, with a blank between them; returns its length, 0 if it cannot be read.
size_t read_command(char* text, size_t size) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, size - 1);
  close(fd);
  if (got <= 0) return 0;
  size_t length = static_cast<size_t>(got);
  while (length > 0 && text[length - 1] == '\0') --length;
  for (size_t i = 0; i < length; ++i) {
    if (text[i] == '\0' || text[i] == '\n') text[i] = ' ';
  }
  text[length] = '\0';
  return length;
}

// A site of its own for this process: its name is the program's, its facts are the command's.
uint32_t make_site() {
  char command[kCommandBytesMax];
  const size_t length = read_command(command, sizeof command);
  const uint32_t site =
      xsp_new_site(XSP_LEVEL_APPLICATION, program_invocation_short_name, kProcessType);
  if (length > 0) xsp_site_attribute(site, "command", command);
  char folder[kCommandBytesMax];
  if (getcwd(folder, sizeof folder) != nullptr) xsp_site_attribute(site, "folder", folder);
  return site;
}

void begin_process() {
  attached.process = getpid();
  attached.start_ns = xsp_now_ns();
}

// Only this thread lives on. Nothing is emitted: a child that goes on to exec leaves no file.
void after_fork_in_child() {
  forget_sampling();
  forget_collectors();
  forget_ranges();
  attached.uses_cuda = false;  // what the parent has of it is of no use here
  attached.span = {};
  begin_process();
}

// It would report threads and memory of ours as the program's mistakes.
bool has_sanitizer() {
  constexpr const char* kEntries[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init"};
  for (const char* entry : kEntries) {
    if (dlsym(RTLD_DEFAULT, entry) != nullptr) return true;
  }
  return false;
}

void start_recording(const char* folder) {
  KeepErrno keep_errno;
  NoCancel no_cancel;
  if (!has_room(folder)) return;
  char path[4096];
  const int64_t moment = xsp_now_ns();
  // A process that execs keeps its id: its programs are told apart by the time.
  const int length = snprintf(path, sizeof path, "%s/%lld-%d.xtrace", folder,
                              static_cast<long long>(moment), static_cast<int>(getpid()));
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return;
  xsp_options options = {};
  options.struct_size = sizeof options;
  options.path = path;
  options.ring_bytes = kRingBytes;
  const int error = xsp_start(&options);
  if (error != 0) {
    // A program that starts its own recording is recorded there; where there is no folder any more,
    // the command has ended.
    if (error != EALREADY && error != ENOENT) count_unrecorded(error);
    return;
  }
  attached.is_recording = true;
  if (attached.site == 0) attached.site = make_site();
  attached.parent_key = xsp_intern_key(kParentProcessKey);
  begin_process();
  xsp_site site = {};
  site.level = XSP_LEVEL_APPLICATION;
  site.id = attached.site;
  // Open from here on: should the process be killed, the trace says that it was running.
  attached.span = xsp_begin(&site);
  xsp_span_int(&attached.span, attached.parent_key, getppid());
  xsp_flush();
  start_collectors(kHostKind, attached.site);
  if (attached.uses_cuda) start_collectors(kCudaKind, attached.site);
  begin_control(folder);
}

// The span of a process that a fork made: it was begun without a record.
void emit_forked() {
  xsp_value parent = {};
  parent.key = attached.parent_key;
  parent.kind = XSP_VALUE_INT;
  parent.value.as_int = getppid();
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = attached.site;
  span.start_ns = attached.start_ns;
  span.duration_ns = xsp_now_ns() - attached.start_ns;
  span.values = &parent;
  span.value_count = 1;
  xsp_emit(&span);
}

bool has_recorded() {
  xsp_counts counts = {};
  counts.struct_size = sizeof counts;
  xsp_get_counts(&counts);
  return counts.recorded != 0;
}

}  // namespace

bool is_recording() { return attached.is_recording; }

void end_process(bool is_exec) {
  // A child of vfork shares this memory, and must leave it alone.
  if (!attached.is_recording || attached.process != getpid()) return;
  KeepErrno keep_errno;
  NoCancel no_cancel;
  // Most children of a fork go on to exec at once: they leave no file.
  if (is_exec && attached.span.start == 0 && !has_recorded()) return;
  // One of two threads, if the process leaves its run at this moment.
  if (!attached.is_recording.exchange(false)) return;
  stop_collectors();
  end_control(is_exec);
  // A signal's handler that ends the process may have interrupted a thread that holds our lock.
  if (xsp_flush_within(kLockWaitMs) != 0) return;
  end_sampling(attached.site);
  end_limit();
  if (attached.span.start != 0) {
    xsp_end(&attached.span);
    attached.span = {};
  } else {
    record_process_span();
    emit_forked();
  }
  xsp_end_recording(1);
}

bool forbids_itself(const char* what) {
  // A child of vfork shares this memory, and must leave it alone.
  if (!attached.is_recording || attached.process != getpid()) return false;
  char text[128];
  snprintf(text, sizeof text, "the process forbade itself %s", what);
  xsp_site_attribute(attached.site, kRecordedUntilKey, text);
  end_process(false);
  return true;
}

void has_forbidden_itself() {
  // Nor are the programs recorded that it becomes or starts: what it forbade is forbidden to them.
  unsetenv(kRunFolderVariable);
}

void on_last_thread() {
  end_sampling(attached.site);
  end_stopping_thread();
}

bool pause_threads() {
  if (!attached.is_recording || attached.process != getpid()) return false;
  pause_sampling();
  pause_stopping_thread();
  xsp_pause();
  return true;
}

void resume_threads() {
  xsp_resume();
  resume_stopping_thread();
  resume_sampling();
}

void leave_run() {
  if (attached.process != getpid() || !attached.is_recording.exchange(false)) return;
  stop_collectors();
  if (xsp_flush_within(kLockWaitMs) == 0) {
    end_sampling(attached.site);
    xsp_end_recording(0);
  }
  end_control(false);  // last: whoever waits for it may read the trace
}

void begin_cuda() {
  if (!attached.is_recording || attached.process != getpid()) return;
  attached.uses_cuda = true;
  xsp_site_attribute(attached.site, kUsesCudaKey, "yes");
  start_collectors(kCudaKind, attached.site);
  // Before what CUDA does at the end: handlers are called in the opposite order.
  atexit(stop_collectors);
}

void begin_opencl() {
  if (!attached.is_recording || attached.process != getpid()) return;
  start_collectors(kOpenclKind, attached.site);
  atexit(stop_collectors);
}

void exec_failed() {
  const char* folder = run_folder();
  if (folder != nullptr && attached.process == getpid()) start_recording(folder);
}

}  // namespace xsp::capture

namespace c = xsp::capture;

// Called by the collector opencl, which the OpenCL loader loads when a process first uses it.
extern "C" XSP_API void xsp_begin_opencl(void);
void xsp_begin_opencl(void) { c::begin_opencl(); }

__attribute__((constructor)) static void attach() {
  const char* folder = c::run_folder();
  if (folder == nullptr) return;
  if (c::has_sanitizer()) return c::count_sanitized(folder);
  xsp_be_quiet();
  pthread_atfork(nullptr, nullptr, c::after_fork_in_child);
  c::start_recording(folder);
}

__attribute__((destructor)) static void detach() { c::end_process(false); }
