"""Difficult programs in C, each a function body or a file with MAIN; programs.py compiles and runs them."""

PROLOGUE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define MAIN int main(int argc, char** argv, char** envp)
static void say(const char* format, ...) {
  char text[4096];
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (write(1, text, (size_t)length) < 0) _exit(99);
}
static void ended(const char* what, pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) say("%s: no child: %d\n", what, errno);
  else say("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
// Calls inside() with each of the texts, in a process of its own.
#define MAIN_INSIDE_PROCESSES(...) MAIN { \
    const char* hows[] = {__VA_ARGS__}; \
    for (unsigned i = 0; i < sizeof hows / sizeof *hows; ++i) { \
      const pid_t pid = fork(); \
      if (pid == 0) { inside(hows[i]); _exit(0); } \
      ended(hows[i], pid); \
    } \
    return 0; \
  }
#define ERROR(call) ({ errno = 0; const long got = (long)(call); got < 0 ? -errno : got; })
static void nap(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}
static void limit(int what, rlim_t value) {
  struct rlimit both = {value, value};
  setrlimit(what, &both);
}
static int filter_calls(const int* calls, int count, unsigned action) {
  struct sock_filter code[64] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)}};
  int at = 1;
  for (int i = 0; i < count; ++i) {
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  }
  code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)at, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
"""

# Prints the process's own state: everything that is inherited, or that its environment may change.
STATE = r"""
#include <dirent.h>
static void file(const char* path, const char* only) {
  FILE* in = fopen(path, "re");
  char line[4096];
  while (in && fgets(line, sizeof line, in))
    if (!*only || strncmp(line, only, strlen(only)) == 0) fputs(line, stdout);
  if (in) fclose(in);
}
MAIN {
  const int first_errno = errno;
  DIR* own = opendir("/proc/self/fd");
  for (struct dirent* one; own && (one = readdir(own));) {
    const int fd = atoi(one->d_name);
    char link[64], target[4096] = "";
    if (one->d_name[0] == '.' || fd == dirfd(own)) continue;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) < 0) strcpy(target, "none");
    if (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7)) *strchr(target, ':') = 0;
    printf("fd %d %s flags %d %x at %ld\n", fd, target, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL),
           (long)lseek(fd, 0, SEEK_CUR));
  }
  if (own) closedir(own);
  file("/proc/self/limits", "");
  for (const char** key = (const char*[]){"Name", "Umask", "State", "TracerPid", "Uid", "Gid", "Groups",
         "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Cap", "NoNewPrivs", "Seccomp", "Threads",
         "Cpus_allowed:", "Mems_allowed:", NULL}; *key; ++key) file("/proc/self/status", *key);
  for (int number = 1; number < 65; ++number) {
    struct sigaction action;
    if (syscall(SYS_rt_sigaction, number, NULL, memset(&action, 0, sizeof action), 8) == 0 &&
        action.sa_handler != SIG_DFL) printf("signal %d: %s\n", number,
                                             action.sa_handler == SIG_IGN ? "ignored" : "caught");
  }
  for (char** one = envp; *one; ++one) printf("env %s\n", *one);
  for (int i = 0; i < argc; ++i) printf("argument %d '%s'\n", i, argv[i]);
  char* folder = getcwd(NULL, 0);
  printf("%s %d %s\n", folder ? folder : "no folder", first_errno, program_invocation_name);
  const int times[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  for (int i = 0; i < 3; ++i) {
    struct itimerval timer;
    getitimer(times[i], &timer);
    printf("timer %d %ld\n", i, timer.it_value.tv_sec);
  }
  stack_t stack;
  sigaltstack(NULL, &stack);
  int death = 0, reaper = 0, tsc = 0;
  prctl(PR_GET_PDEATHSIG, &death);
  prctl(PR_GET_CHILD_SUBREAPER, &reaper);
  prctl(PR_GET_TSC, &tsc);
  printf("stack %x death %d reaper %d tsc %d dumpable %d keep %d slack %d personality %x nice %d\n",
         stack.ss_flags, death, reaper, tsc, prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS),
         prctl(PR_GET_TIMERSLACK), personality(0xffffffff), getpriority(PRIO_PROCESS, 0));
  printf("policy %d leader %d foreground %d\n", sched_getscheduler(0), getsid(0) == getpid(),
         isatty(0) ? tcgetpgrp(0) == getpgrp() : -1);
  file("/proc/self/oom_score_adj", "");
  file("/proc/self/comm", "");
  file("/proc/thread-self/children", "");
  file("/proc/self/cgroup", "");
  const pid_t none = waitpid(-1, NULL, WNOHANG);
  printf("child %d %d\n", none, none < 0 ? errno : 0);
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "again")) {
    argv[1] = "last";
    if (fork() == 0) execv("/proc/self/exe", argv);
    wait(NULL);
  }
  return ferror(stdout) ? 3 : 0;
}
"""

# Starts a program in a way that a shell cannot: starts HOW PROGRAM ARGUMENTS...
STARTS = r"""
MAIN {
  sigset_t all;
  const char* how = argv[1];
  sigfillset(&all);
  if (!strcmp(how, "blocked")) sigprocmask(SIG_BLOCK, &all, NULL);
  if (!strcmp(how, "timer")) alarm(1000);
  if (!strcmp(how, "death")) prctl(PR_SET_PDEATHSIG, SIGUSR2);
  if (!strcmp(how, "privileges")) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!strcmp(how, "pending")) { sigprocmask(SIG_BLOCK, &all, NULL); raise(SIGUSR1); }
  if (!strcmp(how, "with_child") && fork() == 0) { nap(100); _exit(3); }
  if (!strcmp(how, "empty_name")) { char* file = argv[2]; argv[2] = ""; execv(file, argv + 2); }
  if (!strcmp(how, "no_name")) { char* none[] = {NULL}; execv(argv[2], none); }
  if (!strcmp(how, "no_list")) execve(argv[2], NULL, NULL);
  if (!strcmp(how, "long_name")) { char* file = argv[2]; argv[2] = memset(calloc(1, 70000), 'n', 69999);
                                   execv(file, argv + 2); }
  if (!strcmp(how, "twice")) { putenv("TWICE=1"); char* list[] = {"TWICE=1", "TWICE=2", "NOTHING", "=x",
      NULL};
                               execve(argv[2], argv + 2, list); }
  if (!strcmp(how, "high")) { const int null = open("/dev/null", O_RDWR);
                              for (int i = 3; i < 1000; ++i) dup2(null, i); }
  execvp(argv[2], argv + 2);
  return 98;
}
"""

SOURCES = {"state": STATE, "starts": STARTS}

SOURCES["vfork"] = r"""
MAIN {
  volatile int shared = 0;
  pid_t pid = vfork();
  if (pid == 0) { shared = 7; _exit(9); }
  ended("left", pid);
  say("shared %d\n", shared);
  for (int i = 0; i < 20; ++i) {
    pid = vfork();
    if (pid == 0) { execl("/bin/sh", "sh", "-c", "exit $0", i % 2 ? "3" : "4", (char*)0); _exit(9); }
    ended("executed", pid);
  }
  pid = vfork();
  if (pid == 0) { execl("/none", "none", (char*)0); _exit(errno); }
  ended("refused", pid);
  return 0;
}
"""

SOURCES["spawn"] = r"""
MAIN {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t set;
  pid_t pid = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  posix_spawnattr_setsigmask(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 77);
  posix_spawn_file_actions_addclose(&actions, 2);
  char* words[] = {"sh", "-c", "grep Sig /proc/self/status | cut -c1-14,18-; "
                   "ls /proc/self/fd | grep -v ^5..$; cat <&0; exit 12", NULL};
  say("%d\n", posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, envp));
  ended("spawned", pid);
  say("%d\n", posix_spawnp(&pid, "no-such-program", NULL, NULL, words, envp));
  return 0;
}
"""

SOURCES["daemon"] = r"""
MAIN {
  int tell[2];
  if (pipe(tell) != 0) return 1;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    umask(0);
    if (chdir("/") != 0) _exit(1);
    close(0); close(1); close(2);
    const int null = open("/dev/null", O_RDWR);
    dup(null); dup(null);
    dprintf(tell[1], "daemon: descriptor %d, leader %d, terminal %d\n", null, getsid(0) == getpid(),
            open("/dev/tty", O_RDWR) >= 0);
    nap(50);
    dprintf(tell[1], "daemon: ends\n");
    _exit(0);
  }
  wait(NULL);
  close(tell[1]);
  char text[512];
  for (ssize_t got; (got = read(tell[0], text, sizeof text)) > 0;) write(1, text, (size_t)got);
  return 0;
}
"""

SOURCES["fork_tree"] = r"""
MAIN {
  int depth = 0;
  for (int i = 0; i < 6; ++i) if (fork() == 0) { ++depth; i = i < 5 ? i : 5; }
  int sum = 1, status;
  while (wait(&status) > 0) sum += WEXITSTATUS(status);
  if (depth == 0) say("%d processes\n", sum);
  return depth ? sum : 0;
}
"""

SOURCES["exec_itself"] = r"""
MAIN {
  char count[16];
  const int left = argc > 1 ? atoi(argv[1]) : 60;
  if (left == 0) { say("done as %s\n", getenv("TURNS")); return 17; }
  snprintf(count, sizeof count, "%d", left);
  setenv("TURNS", count, 1);
  snprintf(count, sizeof count, "%d", left - 1);
  execl("/proc/self/exe", "again", count, (char*)0);
  return 1;
}
"""

SOURCES["exec_kinds"] = r"""
static int try_all(const char* how, const char* path, char** list) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (*how == 'v') execv(path, list);
    if (*how == 'p') execvpe(path, list, environ);
    if (*how == 'f') fexecve(open(path, O_RDONLY | O_CLOEXEC), list, environ);
    if (*how == 'a') syscall(SYS_execveat, AT_FDCWD, path, list, environ, 0);
    if (*how == 's') syscall(SYS_execve, path, list, environ);
    _exit(errno);
  }
  ended(how, pid);
  return 0;
}
MAIN {
  char* list[] = {"sh", "-c", "echo ran; exit 5", NULL};
  const char* hows[] = {"v", "p", "f", "a", "s"};
  FILE* file = fopen("script", "w");
  fputs("#!/bin/sh -e\necho script $# $0\nfalse\n", file);
  fclose(file);
  file = fopen("plain", "w");
  fputs("echo plain $#\n", file);
  fclose(file);
  file = fopen("loop", "w");
  fputs("#!./loop\n", file);
  fclose(file);
  for (int i = 0; i < 5; ++i) {
    try_all(hows[i], "/bin/sh", list);
    try_all(hows[i], "./none", list);
    chmod("script", 0644);
    try_all(hows[i], "./script", list);
    chmod("script", 0755);
    if (*hows[i] != 'f') try_all(hows[i], "./script", list);
    chmod("plain", 0755);
    try_all(hows[i], "./plain", list);
    chmod("loop", 0755);
    try_all(hows[i], "./loop", list);
    try_all(hows[i], "/", list);
  }
  const int memory = memfd_create("it", 0);
  char text[65536];
  const int in = open("/bin/true", O_RDONLY);
  for (ssize_t got; (got = read(in, text, sizeof text)) > 0;) write(memory, text, (size_t)got);
  const pid_t pid = fork();
  if (pid == 0) { fexecve(memory, list, environ); _exit(errno); }
  ended("memory", pid);
  return 0;
}
"""
