#include "process/watch/collectors.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/watch/control.h"
#include "process/watch/run_folder.h"
#include "shared/base/keep_errno.h"
#include "shared/base/no_cancel.h"
#include "xsp/plugin.h"

namespace xsp::process {
namespace {

constexpr size_t kRunningMax = 8;
constexpr size_t kPathBytesMax = 4096;
constexpr size_t kTextBytesMax = 1024;
// A crash loses at most the spans of this period.
constexpr uint32_t kFlushMs = 250;
// Stopping is given up after this time without progress: something holds a lock and does not run.
constexpr int kPatienceS = 2;
constexpr uint32_t kLockWaitMs = 1000;

struct Running {
  const xsp_collector* collector;
  uint32_t levels;  // levels that it was started with
  char kind[16];
};

struct State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Running running[kRunningMax] = {};
  size_t count = 0;
  uint32_t levels = UINT32_MAX;  // levels to record
  uint32_t told = UINT32_MAX;    // levels that the collectors were told last
  uint32_t site = 0;
  // The thread that stops collectors.
  pthread_t thread = {};
  bool has_thread = false;
  bool is_paused = false;
  bool ends = false;
  sem_t wanted = {};
  sem_t done = {};
  const char* only_kind = nullptr;  // nullptr: all
  // The program that took the collectors' place, and their kind. Collectors of this kind are not
  // started any more.
  char yielded_to[kTextBytesMax] = "";
  char yielded_kind[16] = "";
};
// Initialised before any code of this library runs, because that code runs in a constructor.
constinit State state;

// The messages of a collector, kept until they are written into the trace.
struct Said {
  char failure[kTextBytesMax] = "";
  char notes[kTextBytesMax] = "";
};

void append(char* text, const char* more) {
  const size_t used = strlen(text);
  snprintf(text + used, kTextBytesMax - used, "%s%s", used == 0 ? "" : "; ", more);
}

void keep_failure(void* said, const char* text) {
  snprintf(static_cast<Said*>(said)->failure, kTextBytesMax, "%s", text);
}
void keep_note(void* said, const char* text) { append(static_cast<Said*>(said)->notes, text); }

// Adds a fact to the process's site: KEY.NAME = value.
void tell(const char* key, const char* name, const char* value) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s%s", key, name);
  xsp_site_attribute(state.site, whole, value);
}

// Extracts "cupti" from ".../cupti.so".
void name_of(const char* path, char* name, size_t size) {
  const char* slash = strrchr(path, '/');
  const char* start = slash == nullptr ? path : slash + 1;
  const char* dot = strchrnul(start, '.');
  size_t length = static_cast<size_t>(dot - start);
  if (length > size - 1) length = size - 1;
  memcpy(name, start, length);
  name[length] = '\0';
}

const xsp_collector* load(const char* path, Said* said) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    snprintf(said->failure, kTextBytesMax, "it cannot be loaded: %s", dlerror());
    return nullptr;
  }
  const auto* entry = static_cast<const xsp_collector*>(dlsym(library, XSP_COLLECTOR_SYMBOL));
  if (entry != nullptr && entry->abi == XSP_PLUGIN_ABI && XSP_HAS(xsp_collector, entry, stop)) {
    return entry;
  }
  snprintf(said->failure, kTextBytesMax, "it is no collector of this version of xsp");
  return nullptr;
}

bool start_one(const char* path, Said* said) {
  const xsp_collector* collector = load(path, said);
  if (collector == nullptr) return false;
  // A message that a collector sends later, when its call has ended, is lost.
  xsp_host host = {};
  host.struct_size = sizeof host;
  host.context = said;
  host.fail = keep_failure;
  host.note = keep_note;
  host.scratch_folder = getenv(kRunFolderVariable);
  xsp_collect_options options = {};
  options.struct_size = sizeof options;
  options.levels = possible_levels() & collector->levels;
  options.device = kCudaKind;
  options.flush_ms = kFlushMs;
  if (options.levels == 0) return false;
  if (collector->start(&host, &options) != XSP_OK) {
    if (said->failure[0] == '\0') keep_failure(said, "it failed without a reason");
    return false;
  }
  state.running[state.count].collector = collector;
  state.running[state.count++].levels = options.levels;
  return true;
}

bool has_kind(const Running& one, const char* kind) {
  return kind == nullptr || strcmp(one.kind, kind) == 0;
}

// The caller holds the lock.
void tell_levels() {
  const uint32_t levels = __atomic_load_n(&state.levels, __ATOMIC_ACQUIRE);
  if (levels == state.told) return;
  __atomic_store_n(&state.told, levels, __ATOMIC_RELAXED);
  for (size_t i = 0; i < state.count; ++i) {
    const xsp_collector* collector = state.running[i].collector;
    if (XSP_HAS(xsp_collector, collector, set_levels) && collector->set_levels != nullptr) {
      collector->set_levels(levels & state.running[i].levels);
    }
  }
}

// The thread that holds the lock also tells collectors the levels that arrived meanwhile. If levels
// arrive after its last check, the next thread tells them.
void unlock() {
  tell_levels();
  pthread_mutex_unlock(&state.mutex);
  const uint32_t told = __atomic_load_n(&state.told, __ATOMIC_RELAXED);
  if (__atomic_load_n(&state.levels, __ATOMIC_ACQUIRE) == told) return;
  if (pthread_mutex_trylock(&state.mutex) == 0) unlock();
}

void stop_now(const char* kind) {
  pthread_mutex_lock(&state.mutex);
  size_t kept = 0;
  for (size_t i = 0; i < state.count; ++i) {
    const Running one = state.running[i];
    if (has_kind(one, kind)) {
      (void)one.collector->stop();
    } else {
      state.running[kept++] = one;
    }
  }
  __atomic_store_n(&state.count, kept, __ATOMIC_RELEASE);
  unlock();
}

void* stop_when_wanted(void*) {
  pthread_setname_np(pthread_self(), "xsp-stop");
  for (;;) {
    while (sem_wait(&state.wanted) != 0) {
    }
    if (state.ends) return nullptr;
    stop_now(state.only_kind);
    sem_post(&state.done);
  }
}

// The thread exists from the start: a process that is ending may be unable to create threads.
void make_thread() {
  if (state.has_thread) return;
  sem_init(&state.wanted, 0, 0);
  sem_init(&state.done, 0, 0);
  // The thread must not take the program's signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  state.ends = false;
  state.has_thread = pthread_create(&state.thread, nullptr, stop_when_wanted, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

uint64_t recorded() {
  xsp_counts counts = {};
  counts.struct_size = sizeof counts;
  xsp_get_counts(&counts);
  return counts.recorded;
}

void stop_on_thread(const char* kind) {
  if (__atomic_load_n(&state.count, __ATOMIC_ACQUIRE) == 0 || !state.has_thread) return;
  KeepErrno keep_errno;
  NoCancel no_cancel;
  if (xsp_flush_within(kLockWaitMs) != 0) return;
  uint64_t before = recorded();
  state.only_kind = kind;
  sem_post(&state.wanted);
  for (;;) {
    timespec until = {};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kPatienceS;
    int result = 0;
    while ((result = sem_timedwait(&state.done, &until)) != 0 && errno == EINTR) {
    }
    if (result == 0 || xsp_flush_within(kLockWaitMs) != 0) return;
    const uint64_t now = recorded();
    if (now == before) break;
    before = now;
  }
  xsp_count_loss("collectors", "stopping them took too long", 1);
}

}  // namespace

void start_collectors(const char* kind, uint32_t site) {
  const char* list = getenv(kCollectorsVariable);
  if (list == nullptr) return;
  KeepErrno keep_errno;
  NoCancel no_cancel;
  pthread_mutex_lock(&state.mutex);
  state.site = site;
  const size_t kind_length = strlen(kind);
  for (const char* at = list; *at != '\0' && state.count < kRunningMax;) {
    const char* end = strchrnul(at, ':');
    const bool is_kind = strncmp(at, kind, kind_length) == 0 && at[kind_length] == '=';
    const char* path_start = at + kind_length + 1;
    at = *end == ':' ? end + 1 : end;
    if (!is_kind || static_cast<size_t>(end - path_start) >= kPathBytesMax) continue;
    char path[kPathBytesMax];
    snprintf(path, sizeof path, "%.*s", static_cast<int>(end - path_start), path_start);
    char name[64];
    name_of(path, name, sizeof name);
    Said said;
    make_thread();
    if (strcmp(state.yielded_kind, kind) == 0) {
      tell(kCollectorKey, name, state.yielded_to);
    } else if (start_one(path, &said)) {
      snprintf(state.running[state.count - 1].kind, sizeof state.running[0].kind, "%s", kind);
      tell(kCollectorKey, name, kRecorded);
    } else if (said.failure[0] != '\0') {
      tell(kCollectorKey, name, said.failure);
    }
    if (said.notes[0] != '\0') tell(kCollectorNoteKey, name, said.notes);
  }
  state.told = UINT32_MAX;  // new collectors record all levels that they were started with
  unlock();
}

void set_collector_levels(uint32_t levels) {
  __atomic_store_n(&state.levels, levels, __ATOMIC_RELEASE);
  if (__atomic_load_n(&state.count, __ATOMIC_ACQUIRE) == 0) return;
  if (pthread_mutex_trylock(&state.mutex) == 0) unlock();
}

uint32_t collected_levels() {
  uint32_t levels = 0;
  const size_t count = __atomic_load_n(&state.count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < count; ++i) levels |= state.running[i].levels;
  return levels;
}

void stop_collectors() { stop_on_thread(nullptr); }

void yield_collectors(const char* kind, const char* why) {
  snprintf(state.yielded_to, sizeof state.yielded_to, "%s", why);
  snprintf(state.yielded_kind, sizeof state.yielded_kind, "%s", kind);
  for (size_t i = 0; i < state.count; ++i) {
    if (!has_kind(state.running[i], kind)) continue;
    char note[kTextBytesMax + 64];
    snprintf(note, sizeof note, "process %d: recorded until %s", static_cast<int>(getpid()), why);
    tell(kCollectorNoteKey, state.running[i].collector->name, note);
  }
  stop_on_thread(kind);
}

void end_stopping_thread() {
  if (!state.has_thread) return;
  state.has_thread = false;
  state.ends = true;
  sem_post(&state.wanted);
}

void pause_stopping_thread() {
  state.is_paused = state.has_thread;
  end_stopping_thread();
  if (state.is_paused) pthread_join(state.thread, nullptr);
}

void resume_stopping_thread() {
  if (state.is_paused) make_thread();
  state.is_paused = false;
}

void forget_collectors() {
  state.count = 0;
  state.has_thread = false;
  state.mutex = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace xsp::process
