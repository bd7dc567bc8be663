// System calls that fail, kill the process, or give another result if xsp's threads or a recording
// are in the process.
//
// Some calls are refused to a process with several threads (unshare, setns). Others are made by
// each of its threads, and end the process if one thread may not do what another may (setuid and
// similar calls). No thread of xsp exists while such a call lasts. Other calls forbid the process
// something that a recording needs (seccomp, the time-stamp counter): the recording ends before
// them.
//
// The loader finds these functions first because the library is preloaded. Watching the system
// calls themselves (ptrace, a seccomp filter) was rejected: it needs privileges, and slows every
// call.
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/watch/watch.h"
#include "shared/base/keep_errno.h"
#include "shared/base/no_cancel.h"
#include "xsp/xsp.h"

namespace {

// The value of linux/seccomp.h, parts of which older systems lack.
constexpr unsigned long kModeStrict = 1;

// While this object lives, the process has no thread of xsp. The calling thread blocks signals
// meanwhile: a handler might end the process and wait for xsp.
class WithoutThreads {
 public:
  WithoutThreads() {
    const xsp::KeepErrno keep_errno;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
    is_paused_ = xsp::process::pause_threads();
  }
  WithoutThreads(const WithoutThreads&) = delete;
  WithoutThreads& operator=(const WithoutThreads&) = delete;
  ~WithoutThreads() {
    const xsp::KeepErrno keep_errno;
    if (is_paused_) xsp::process::resume_threads();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  xsp::NoCancel no_cancel_;
  sigset_t before_;
  bool is_paused_ = false;
};

// Returns the C library's own function, looked up once.
template <typename Function>
Function* next(const char* name, Function** found) {
  Function* function = __atomic_load_n(found, __ATOMIC_RELAXED);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    __atomic_store_n(found, function, __ATOMIC_RELAXED);
  }
  return function;
}

// Makes a call by which the process forbids itself something that a recording needs. The recording
// ends before the call.
template <typename Call>
auto forbid(const char* what, Call call) {
  const bool was_recorded = xsp::process::forbids_itself(what);
  const auto result = call();
  if (was_recorded && result == 0) {
    xsp::process::has_forbidden_itself();
  } else if (was_recorded) {
    const xsp::KeepErrno keep_errno;
    xsp::process::exec_failed();
  }
  return result;
}

constexpr const char* kCalls = "system calls (seccomp)";
constexpr const char* kCounter = "the time-stamp counter (PR_SET_TSC)";

// Returns the forbidden thing; nullptr: the call does not concern xsp. With a null filter the call
// only asks the kernel a question.
const char* forbidden_by_prctl(int option, unsigned long value, unsigned long filter) {
  if (option == PR_SET_SECCOMP && (value == kModeStrict || filter != 0)) return kCalls;
  return option == PR_SET_TSC && value == PR_TSC_SIGSEGV ? kCounter : nullptr;
}

using Prctl = int(int, unsigned long, unsigned long, unsigned long, unsigned long);
Prctl* next_prctl = nullptr;

int prctl_of(int option, const unsigned long (&values)[4]) {
  const auto call = [&] {
    return next("prctl", &next_prctl)(option, values[0], values[1], values[2], values[3]);
  };
  const char* what = forbidden_by_prctl(option, values[0], values[1]);
  return what == nullptr ? call() : forbid(what, call);
}

}  // namespace

extern "C" {

XSP_API int prctl(int option, ...) noexcept {
  unsigned long values[4];
  va_list rest;
  va_start(rest, option);
  for (unsigned long& value : values) value = va_arg(rest, unsigned long);
  va_end(rest);
  return prctl_of(option, values);
}

#define XSP_WITHOUT_THREADS(name, parameters, arguments) \
  XSP_API int name parameters noexcept {                 \
    static int(*found) parameters = nullptr;             \
    const WithoutThreads without_threads;                \
    return next(#name, &found) arguments;                \
  }

XSP_WITHOUT_THREADS(unshare, (int flags), (flags))
XSP_WITHOUT_THREADS(setns, (int fd, int type), (fd, type))
XSP_WITHOUT_THREADS(setuid, (uid_t user), (user))
XSP_WITHOUT_THREADS(setgid, (gid_t group), (group))
XSP_WITHOUT_THREADS(seteuid, (uid_t user), (user))
XSP_WITHOUT_THREADS(setegid, (gid_t group), (group))
XSP_WITHOUT_THREADS(setreuid, (uid_t real, uid_t effective), (real, effective))
XSP_WITHOUT_THREADS(setregid, (gid_t real, gid_t effective), (real, effective))
XSP_WITHOUT_THREADS(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
XSP_WITHOUT_THREADS(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
XSP_WITHOUT_THREADS(setgroups, (size_t count, const gid_t* groups), (count, groups))

#undef XSP_WITHOUT_THREADS

XSP_API int initgroups(const char* user, gid_t group) {
  static int (*found)(const char*, gid_t) = nullptr;
  const WithoutThreads without_threads;
  return next("initgroups", &found)(user, group);
}

#if defined(__x86_64__)

// These values are those of linux/seccomp.h.
constexpr unsigned long kSeccompStrict = 0;
constexpr unsigned long kSeccompFilter = 1;

static const char* forbidden_by_seccomp(unsigned long operation, unsigned long filter) {
  const bool forbids = operation == kSeccompStrict || (operation == kSeccompFilter && filter != 0);
  return forbids ? kCalls : nullptr;
}

// Programs that call the system by number, libseccomp among them, use this function. Only the
// numbers that concern xsp are handled here. All other calls jump to the C library's function with
// their registers and stack unchanged: a child of vfork returns through it on its parent's stack.
__attribute__((visibility("hidden"))) long (*xsp_next_syscall)(long, ...) = nullptr;

__attribute__((visibility("hidden"))) long xsp_watched_syscall(
    long number, unsigned long first, unsigned long second, unsigned long third,
    unsigned long fourth, unsigned long fifth, unsigned long sixth) {
  const auto call = [&] {
    return next("syscall", &xsp_next_syscall)(number, first, second, third, fourth, fifth, sixth);
  };
  const char* what = nullptr;
  if (number == SYS_prctl) what = forbidden_by_prctl(static_cast<int>(first), second, third);
  if (number == SYS_seccomp) what = forbidden_by_seccomp(first, third);
  if (what != nullptr) return forbid(what, call);
  if (number != SYS_unshare && number != SYS_setns) return call();
  const WithoutThreads without_threads;
  return call();
}

asm(R"(
  .pushsection .text
  .globl syscall
  .type syscall, @function
  .p2align 4
syscall:
  endbr64
  cmpq $157, %rdi  # prctl
  je 1f
  cmpq $272, %rdi  # unshare
  je 1f
  cmpq $308, %rdi  # setns
  je 1f
  cmpq $317, %rdi  # seccomp
  je 1f
  movq xsp_next_syscall(%rip), %rax
  testq %rax, %rax
  je 1f
  jmpq *%rax
1:
  jmp xsp_watched_syscall
  .size syscall, .-syscall
  .popsection
)");

__attribute__((constructor)) static void look_up_syscall() { next("syscall", &xsp_next_syscall); }

#endif

}  // extern "C"
