// The threads that xsp runs in the program's process. Their names tell them apart from the
// program's threads, they block all signals, and they need little memory.
#ifndef XSP_PROCESS_RECORD_OWN_THREADS_H_
#define XSP_PROCESS_RECORD_OWN_THREADS_H_

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace xsp::process {

inline constexpr char kOwnThreadNames[] = "xsp-";  // all their names begin with this
// Limits the size of their stacks. The deepest of these threads needs a tenth of it. The program's
// thread-local variables lie on the stack as well; if they need more, the thread gets a stack of
// the usual size.
inline constexpr size_t kOwnStackBytes = 512u << 10;

// Returns 0 or an errno value.
inline int start_own_thread(void* (*run)(void*), pthread_t* thread) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kOwnStackBytes);
  int error = pthread_create(thread, &attributes, run, nullptr);
  if (error == EINVAL) error = pthread_create(thread, nullptr, run, nullptr);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

// Returns whether only threads of xsp are left: the program's first thread has ended, and so have
// its other threads. `*status` is the exit status of the first thread.
bool has_program_ended(int* status);

// Waits until the kernel has forgotten xsp's threads, at most some 20 ms. All of them must have
// been joined: the kernel ends a join slightly before the thread stops to count as one of the
// process.
void wait_for_ended_threads();

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_OWN_THREADS_H_
