// A program that does, by its first argument, things that a library within it may not survive, or
// may hinder.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "xsp/xsp.h"

namespace {

xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "work");

void emit(int count) {
  for (int i = 0; i < count; ++i) {
    xsp_span span = xsp_begin(&site);
    xsp_end(&span);
  }
}

uint64_t read_counter() { return __builtin_ia32_rdtsc(); }

void say(const char* text) {
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(99);
}

void say_at_exit() { say("exit\n"); }

int first_thread_ends() {
  emit(10);
  std::atexit(say_at_exit);
  pthread_exit(nullptr);
}

int first_thread_ends_by_call() {
  emit(10);
  syscall(SYS_exit, 3);
  return 1;
}

void* emit_when_cancelled(void* barrier) {
  pthread_barrier_wait(static_cast<pthread_barrier_t*>(barrier));
  emit(1);
  for (;;) pause();
}

// Each thread is cancelled before its first span, with which it would join the recording.
int threads_are_cancelled() {
  for (int i = 0; i < 20; ++i) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 2);
    pthread_t thread;
    pthread_create(&thread, nullptr, emit_when_cancelled, &barrier);
    pthread_cancel(thread);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, nullptr);
    pthread_barrier_destroy(&barrier);
  }
  say("done\n");
  return 0;
}

// Forbids calls to all threads, except for writing and ending: by libseccomp's way.
int forbids_calls() {
  emit(10);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog filter = {5, code};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) {
    return 77;
  }
  emit(10);
  // The loop is long enough for other threads of the process to call the system.
  for (uint64_t begin = read_counter(); read_counter() - begin < 200'000'000;) {
  }
  say("done\n");
  return 5;
}

int forbids_all_calls() {
  emit(10);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 77;
  emit(10);
  say("done\n");
  syscall(SYS_exit, 5);
  return 1;
}

int forbids_the_counter() {
  emit(10);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 77;
  emit(10);
  say("done\n");
  return 5;
}

int leaves_the_others() {
  usleep(30'000);
  std::printf("memory %d\n", unshare(CLONE_VM));
  std::printf("users %d\n", unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  return 0;
}

int gives_up_its_rights() {
  usleep(30'000);
  // This affects only this thread; the C library makes the later calls for all threads, and ends a
  // process whose threads differ.
  prctl(PR_SET_KEEPCAPS, 1);
  for (int i = 0; i < 20; ++i) {
    if (seteuid(1) != 0 || seteuid(0) != 0) return 77;
  }
  std::printf("%d", setresuid(1, 1, 1));
  return 0;
}

int looks_for_a_program() {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  for (int i = 0; i < 10; ++i) execv("/nowhere/true", argv);
  execv("/bin/true", argv);
  return 1;
}

std::atomic<uint64_t>* emitted = nullptr;

void* emit_on(void*) {
  for (;;) {
    emit(1);
    emitted->fetch_add(1, std::memory_order_relaxed);
    sched_yield();  // slow enough for its ring
  }
}

// Its threads continue until the process is gone.
int ends_while_others_emit() {
  static std::atomic<uint64_t> count{0};
  emitted = &count;
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, emit_on, nullptr);
  }
  usleep(50'000);
  _exit(0);
}

std::atomic<bool> steps_on{true};

void* step_on(void*) {
  while (steps_on) xsp_step();
  return nullptr;
}

// Forks while another thread steps. Each child steps before it does anything else.
int forks_amid_steps() {
  pthread_t thread;
  pthread_create(&thread, nullptr, step_on, nullptr);
  usleep(50'000);
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      xsp_step();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  steps_on = false;
  pthread_join(thread, nullptr);
  say("done\n");
  return 0;
}

// A signal's handler ends the process in the middle of a step.
int ends_in_a_handler() {
  signal(SIGALRM, [](int) { _exit(6); });
  const itimerval soon = {{0, 0}, {0, 30'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  for (;;) xsp_step();
}

volatile sig_atomic_t number_got = 0;

// Prints the signal that it received.
int waits_for_a_signal() {
  struct sigaction action = {};
  action.sa_handler = [](int number) { number_got = number; };
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number != SIGCHLD) sigaction(number, &action, nullptr);
  }
  std::fprintf(stderr, "ready\n");
  while (number_got == 0) usleep(1000);
  std::printf("%d\n", static_cast<int>(number_got));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> all = {
      {"first_thread_ends", first_thread_ends},
      {"first_thread_ends_by_call", first_thread_ends_by_call},
      {"threads_are_cancelled", threads_are_cancelled},
      {"forbids_calls", forbids_calls},
      {"forbids_all_calls", forbids_all_calls},
      {"forbids_the_counter", forbids_the_counter},
      {"leaves_the_others", leaves_the_others},
      {"gives_up_its_rights", gives_up_its_rights},
      {"looks_for_a_program", looks_for_a_program},
      {"ends_while_others_emit", ends_while_others_emit},
      {"forks_amid_steps", forks_amid_steps},
      {"ends_in_a_handler", ends_in_a_handler},
      {"waits_for_a_signal", waits_for_a_signal},
  };
  return argc < 2 ? 2 : all.at(argv[1])();
}
