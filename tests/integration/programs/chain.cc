// Functions that call each other, for stacks of compiled code.
//
//   chain works    computes for a second below outer(), then sleeps below waits()
//   chain faults   touches fresh memory all the time
//   chain forks    lets a child compute
//   chain forbids  works where the system refuses perf_event_open, as in containers
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#define CHAIN __attribute__((noinline, noclone))

namespace {

volatile double sink;

double ran_s() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void forbid_clocks() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The call bypasses the C library, as if the filter had existed before the program: a filter that
  // a program sets by a function of the C library ends its recording.
  long result = SYS_prctl;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(&program)
               : "rcx", "r11", "memory");
}

}  // namespace

namespace chain {

CHAIN double computes(int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += i * sink;
  return sum;
}
template <typename Number>
CHAIN double middle(Number count) {
  return computes(static_cast<int>(count)) + sink;
}
CHAIN double outer(double seconds) {
  const double until = ran_s() + seconds;
  while (ran_s() < until) sink = middle<long>(2'000'000) * 0;
  return sink;
}
CHAIN double sleeps() {
  usleep(600'000);
  return sink;
}
CHAIN double waits() { return sleeps() + sink; }
CHAIN double touches(double seconds) {
  constexpr size_t kBytes = 1u << 24;
  const double until = ran_s() + seconds;
  while (ran_s() < until) {
    void* const fresh =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(fresh, kBytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(fresh)[i] = 1;
    munmap(fresh, kBytes);
  }
  return sink;
}

}  // namespace chain

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "works";
  if (std::strcmp(what, "forbids") == 0) {
    forbid_clocks();
    char works[] = "works";
    char* const arguments[] = {argv[0], works, nullptr};
    execv("/proc/self/exe", arguments);
    return 1;
  }
  double all = 0;
  if (std::strcmp(what, "forks") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      all += chain::outer(0.7);
      _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
  } else if (std::strcmp(what, "faults") == 0) {
    all += chain::touches(1);
  } else {
    all += chain::outer(1) + chain::waits();
  }
  std::printf("done %d\n", all > 0 ? 1 : 0);
  return 3;
}
