// libxsp-attach.so: the library that `xsp run` loads into every process of the watched command.
//
// LD_PRELOAD loads it. It records from before main() to the end of the process, into a file of its
// own in the folder that $XSP_RUN names. The whole process is one span of the level application.
// All other spans come through xsp.h from the program itself, from the Python package, and from
// collectors (collectors.h), which are loaded when the process first uses the thing that they watch
// (cuda.cc).
//
// Like libxsp.so it needs only the C library, throws and aborts nothing, and leaves errno
// unchanged. $XSP_RUN is not set in processes that `xsp run` did not start; there the library does
// nothing.
#include "process/watch/watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "process/record/watcher.h"
#include "process/sample/sampler.h"
#include "process/watch/collectors.h"
#include "process/watch/control.h"
#include "process/watch/nvtx.h"
#include "process/watch/run_folder.h"
#include "shared/base/keep_errno.h"
#include "shared/base/no_cancel.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// Every process takes the ring's pages at once, and most processes are short. The ring holds a
// tenth of a second at one span every 3 us, which is more than Python emits, and the drainer
// empties it many times in that time.
constexpr uint32_t kRingBytes = 1u << 20;
constexpr uint32_t kLockWaitMs = 1000;
constexpr size_t kCommandBytesMax = 4000;  // a text of the trace has room for 4096

struct Attached {
  std::atomic<bool> is_recording{false};
  bool uses_cuda = false;
  pid_t process = 0;  // the process of `span`
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

// Reads the command's words, separated by blanks. Returns the length, or 0 if it cannot be read.
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

// Makes a site for this process: its name is the program's name, its facts describe the command.
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

// Only the calling thread lives on in the child. Nothing is emitted here: a child that goes on to
// exec leaves no file.
void after_fork_in_child() {
  forget_control();
  forget_sampling();
  forget_collectors();
  forget_ranges();
  attached.uses_cuda = false;  // the parent's CUDA state is useless in the child
  attached.span = {};
  begin_process();
}

// Returns whether a sanitizer is loaded: it would report xsp's threads and memory as the program's
// mistakes.
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
  // A process that calls exec keeps its id: the time tells its programs apart.
  const int length = snprintf(path, sizeof path, "%s/%lld-%d.xtrace", folder,
                              static_cast<long long>(moment), static_cast<int>(getpid()));
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return;
  xsp_options options = {};
  options.struct_size = sizeof options;
  options.path = path;
  options.ring_bytes = kRingBytes;
  const int error = xsp_start(&options);
  if (error != 0) {
    // EALREADY: the program has started its own recording, and is recorded there. ENOENT: the
    // folder is gone because the command has ended.
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
  // The span is open from here on: if the process is killed, the trace says that it was running.
  attached.span = xsp_begin(&site);
  xsp_span_int(&attached.span, attached.parent_key, getppid());
  xsp_flush();
  start_collectors(kHostKind, attached.site);
  if (attached.uses_cuda) start_collectors(kCudaKind, attached.site);
  begin_control(folder);
}

// Emits the span of a process that a fork made. No open span was recorded for it.
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
  // A child of vfork shares this memory and must not change it.
  if (!attached.is_recording || attached.process != getpid()) return;
  KeepErrno keep_errno;
  NoCancel no_cancel;
  // Most children of a fork call exec at once: they leave no file.
  if (is_exec && attached.span.start == 0 && !has_recorded()) return;
  // Two threads may be here if the process leaves its run at this moment. Only one goes on.
  if (!attached.is_recording.exchange(false)) return;
  stop_collectors();
  end_control(is_exec);
  // A signal handler that ends the process may have interrupted a thread that holds the session's
  // lock.
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
  // A child of vfork shares this memory and must not change it.
  if (!attached.is_recording || attached.process != getpid()) return false;
  char text[128];
  snprintf(text, sizeof text, "the process forbade itself %s", what);
  xsp_site_attribute(attached.site, kRecordedUntilKey, text);
  end_process(false);
  return true;
}

void has_forbidden_itself() {
  // Programs that the process becomes or starts are not recorded either: they inherit the
  // prohibition.
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
  end_control(false);  // last: `xsp run` may read the trace after this
}

void begin_cuda() {
  if (!attached.is_recording || attached.process != getpid()) return;
  attached.uses_cuda = true;
  xsp_site_attribute(attached.site, kUsesCudaKey, "yes");
  start_collectors(kCudaKind, attached.site);
  // Exit handlers are called in reverse order, so this one runs before CUDA's own.
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

}  // namespace xsp::process

namespace c = xsp::process;

// The collector `opencl` calls this. The OpenCL loader loads that collector when a process first
// uses OpenCL.
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
