"""Difficult programs in C: signals, ends, limits and odd stacks."""

SOURCES = {}

SOURCES["signals_default"] = r"""
MAIN {
  for (int number = 1; number < 65; ++number) {
    if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) continue;
    const pid_t pid = fork();
    if (pid == 0) { raise(number); _exit(66); }
    char name[16];
    snprintf(name, sizeof name, "%d", number);
    ended(name, pid);
  }
  return 0;
}
"""

SOURCES["signals_handled"] = r"""
static volatile int seen[65], codes[65];
static void handle(int number, siginfo_t* info, void* context) {
  seen[number]++;
  codes[number] = info->si_code == SI_QUEUE ? info->si_value.sival_int : info->si_code;
}
MAIN {
  for (int number = 1; number < 65; ++number) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO}, before = {};
    sigfillset(&action.sa_mask);
    const int set = sigaction(number, &action, &before);
    say("%d: %d %d", number, set, before.sa_handler != SIG_DFL);
    if (set != 0) { say("\n"); continue; }
    raise(number);
    kill(getpid(), number);
    sigqueue(getpid(), number, (union sigval){.sival_int = 1000 + number});
    sigaction(number, NULL, &before);
    say(" %d %d %d\n", seen[number], codes[number], before.sa_sigaction == handle);
    signal(number, SIG_DFL);
  }
  return 0;
}
"""

SOURCES["signal_ends"] = "MAIN { fputs(\"buffered\", stdout); raise(atoi(argv[1])); return 3; }\n"

SOURCES["overflow_survived"] = r"""
static sigjmp_buf back;
static volatile int depth;
static void handle(int number) { siglongjmp(back, number); }
static __attribute__((noinline)) int deeper(volatile char* of) {
  volatile char here[4096];
  here[0] = of[0];
  ++depth;
  return deeper(here) + here[0];
}
MAIN {
  volatile char first[1] = {1};
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 3; ++i) {
    depth = 0;
    const int number = sigsetjmp(back, 1);
    if (number == 0) deeper(first);
    say("signal %d, deep enough %d\n", number, depth > 1500);
  }
  signal(SIGSEGV, SIG_DFL);
  return deeper(first);
}
"""

SOURCES["restarts"] = r"""
static volatile int count;
static void handle(int number) { ++count; }
MAIN {
  const int flags[] = {0, SA_RESTART};
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    char one = 0;
    pipe(ends);
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags[i]};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 20000}, {0, 20000}}, none = {};
    const pid_t pid = fork();
    if (pid == 0) { nap(150); write(ends[1], "x", 1); _exit(0); }
    setitimer(ITIMER_REAL, &timer, NULL);
    const ssize_t got = read(ends[0], &one, 1);
    say("read %zd %s\n", got, got < 0 ? strerror(errno) : "");
    const int ready = poll(&(struct pollfd){ends[0], 0, 0}, 1, 1000);
    say("poll %d %s\n", ready, ready < 0 ? strerror(errno) : "");
    setitimer(ITIMER_REAL, &none, NULL);
    ended("child", pid);
    say("some %d\n", count > 0);
  }
  return 0;
}
"""

SOURCES["timers"] = r"""
static volatile sig_atomic_t counts[65];
static void handle(int number) { ++counts[number]; }
static void* nothing(union sigval value) { __atomic_add_fetch((int*)value.sival_ptr, 1, 5); return NULL; }
MAIN {
  int from_threads = 0;
  signal(SIGPROF, handle); signal(SIGVTALRM, handle); signal(SIGRTMIN + 4, handle);
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &timer, NULL);
  setitimer(ITIMER_VIRTUAL, &timer, NULL);
  timer_t made, threads;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4};
  timer_create(CLOCK_MONOTONIC, &event, &made);
  struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_ptr = &from_threads,
                               .sigev_notify_function = (void (*)(union sigval))nothing};
  timer_create(CLOCK_MONOTONIC, &by_thread, &threads);
  struct itimerspec every = {{0, 5000000}, {0, 5000000}};
  timer_settime(made, 0, &every, NULL);
  timer_settime(threads, 0, &every, NULL);
  while (counts[SIGPROF] < 10 || counts[SIGVTALRM] < 10 || counts[SIGRTMIN + 4] < 5 ||
         __atomic_load_n(&from_threads, 5) < 5) {
  }
  say("all came\n");
  timer_delete(threads);
  return 0;
}
"""

SOURCES["waits_for_signals"] = r"""
static void* send_all(void* none) {
  for (int i = 0; i < 5; ++i) { kill(getpid(), SIGUSR1); nap(10); kill(getpid(), SIGRTMIN + i); nap(10); }
  return NULL;
}
MAIN {
  sigset_t set;
  pthread_t thread;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, NULL);
  const int fd = signalfd(-1, &set, 0);
  pthread_create(&thread, NULL, send_all, NULL);
  for (int i = 0; i < 10; ++i) {
    struct signalfd_siginfo info = {};
    siginfo_t waited = {};
    if (i % 3) { read(fd, &info, sizeof info); say("%d by file\n", info.ssi_signo); }
    else say("%d by wait\n", sigwaitinfo(&set, &waited));
  }
  pthread_join(thread, NULL);
  const struct timespec soon = {0, 1000000};
  say("none: %d\n", sigtimedwait(&set, NULL, &soon));
  return 0;
}
"""

SOURCES["main_thread_ends"] = r"""
static pthread_t first;
static void* work(void* none) {
  void* result = NULL;
  say("joined %d", pthread_join(first, &result));
  say(" %ld\n", (long)result);
  raise(SIGTERM);
  return NULL;
}
static void cleanup(void* what) { say("cleanup %s\n", (char*)what); }
MAIN {
  pthread_t thread;
  first = pthread_self();
  pthread_create(&thread, NULL, work, NULL);
  pthread_cleanup_push(cleanup, "of main");
  pthread_exit((void*)42L);
  pthread_cleanup_pop(0);
}
"""

SOURCES["cancel"] = r"""
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static volatile int count;
static void at_end(void* value) { __atomic_add_fetch(&count, 1, 5); }
static void unlock(void* of) { pthread_mutex_unlock(of); at_end(NULL); }
static void* work(void* kind) {
  pthread_setspecific(key, &key);
  switch ((long)kind % 7) {
    case 0: pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); for (;;) { }
    case 1: for (;;) pause();
    case 2:
      pthread_mutex_lock(&lock);
      pthread_cleanup_push(unlock, &lock);
      for (;;) pthread_cond_wait(&never, &lock);
      pthread_cleanup_pop(1);
    case 3:
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
      nap(20);
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
      for (;;) pthread_testcancel();
    case 4: for (;;) { void* piece = malloc(100000); memset(piece, 1, 100); free(piece); nap(1); }
    case 5: for (;;) { const int fd = open("/dev/null", O_RDONLY); if (fd >= 0) close(fd); }
    default: pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); nap(30); return kind;
  }
}
MAIN {
  int cancelled = 0;
  pthread_key_create(&key, at_end);
  for (int turn = 0; turn < 15; ++turn) {
    pthread_t threads[14];
    for (long i = 0; i < 14; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
    if (turn % 2) nap(5);
    for (int i = 0; i < 14; ++i) pthread_cancel(threads[i]);
    for (int i = 0; i < 14; ++i) {
      void* result = NULL;
      pthread_join(threads[i], &result);
      cancelled += result == PTHREAD_CANCELED;
    }
  }
  say("at least %d %d\n", cancelled >= 180, pthread_mutex_trylock(&lock));
  return 0;
}
"""

SOURCES["ends"] = r"""
static void one(void) { say("one\n"); }
static void two(void) { say("two\n"); atexit(one); }
static void quick(void) { say("quick\n"); }
static void by_signal(int number) { say("handler\n"); }
static void* in_thread(void* how) {
  if (!strcmp(how, "exit")) exit(4);
  if (!strcmp(how, "_exit")) _exit(5);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) *(volatile int*)8 = 1;
  if (!strcmp(how, "call")) syscall(SYS_exit_group, 6);
  return NULL;
}
static __attribute__((destructor)) void last(void) { say("destructor\n"); }
static void child(const char* how) {
  pthread_t thread;
  if (!strncmp(how, "thread ", 7)) {
    pthread_create(&thread, NULL, in_thread, (void*)(how + 7));
    for (;;) pause();
  }
  if (!strcmp(how, "quick")) quick_exit(7);
  if (!strcmp(how, "exit in exit")) { atexit((void (*)(void))in_thread); on_exit((void (*)(int,
      void*))one, 0); exit(8); }
  if (!strcmp(how, "abort handled")) { signal(SIGABRT, by_signal); abort(); }
  if (!strcmp(how, "abort ignored")) { signal(SIGABRT, SIG_IGN); abort(); }
  if (!strcmp(how, "trap")) __builtin_trap();
  if (!strcmp(how, "divide")) { volatile int zero = 0, one = 1; exit(one / zero); }
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "exit call")) syscall(SYS_exit, 9);
  if (!strcmp(how, "bus")) { const int fd = open("empty", O_RDWR | O_CREAT, 0600);
                             *(volatile char*)mmap(0, 4096, 3, MAP_SHARED, fd, 0) = 1; }
  if (!strcmp(how, "status")) exit(0x1ff);
}
MAIN {
  const char* hows[] = {"quick", "abort handled", "abort ignored", "trap", "divide", "kill",
      "exit call", "bus",
                        "status", "thread exit", "thread _exit", "thread abort", "thread segv",
                            "thread call"};
  atexit(two);
  at_quick_exit(quick);
  for (unsigned i = 0; i < sizeof hows / sizeof *hows; ++i) {
    const pid_t pid = fork();
    if (pid == 0) { child(hows[i]); _exit(66); }
    ended(hows[i], pid);
  }
  return 11;
}
"""

SOURCES["segv"] = "MAIN { say(\"before\\n\"); *(volatile int*)(uintptr_t)argc = 1; return 0; }\n"

SOURCES["limits_inside"] = r"""
static void spin(int number) { say("signal %d\n", number); _exit(5); }
static void inside(const char* how) {
  if (!strcmp(how, "memory")) {
    limit(RLIMIT_AS, 1000l << 20);
    void* big = malloc(1200l << 20);
    void* small = malloc(100l << 20);
    say("%d %d\n", big != NULL, small != NULL);
  } else if (!strcmp(how, "data")) {
    limit(RLIMIT_DATA, 1 << 20);
    say("%d\n", malloc(64 << 20) != NULL);
  } else if (!strcmp(how, "files")) {
    limit(RLIMIT_NOFILE, 16);
    int count = 0, last = -1;
    for (int fd; (fd = dup(0)) >= 0; ++count) last = fd;
    say("%d %d %s\n", count, last, strerror(errno));
  } else if (!strcmp(how, "size")) {
    limit(RLIMIT_FSIZE, 1000);
    const int fd = open("sized", O_CREAT | O_WRONLY, 0600);
    char text[600] = "";
    say("%zd\n", write(fd, text, 600));
    say("%zd\n", write(fd, text, 600));
    say("%zd\n", write(fd, text, 600));
  } else if (!strcmp(how, "size ignored")) {
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 0);
    say("%ld\n", ERROR(write(open("sized", O_CREAT | O_WRONLY, 0600), "x", 1)));
  } else if (!strcmp(how, "processor")) {
    struct rlimit time = {1, 3};
    signal(SIGXCPU, spin);
    setrlimit(RLIMIT_CPU, &time);
    for (;;) { }
  } else if (!strcmp(how, "processes")) {
    if (setresuid(65533, 65533, 65533) != 0) _exit(77);
    limit(RLIMIT_NPROC, 0);
    say("%ld\n", ERROR(fork()));
  } else if (!strcmp(how, "signals")) {
    limit(RLIMIT_SIGPENDING, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    say("%ld\n", ERROR(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1})));
  } else if (!strcmp(how, "locked")) {
    limit(RLIMIT_MEMLOCK, 65536);
    if (setresuid(65533, 65533, 65533) != 0) _exit(77);
    void* piece = mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("%ld %ld\n", ERROR(mlock(piece, 32768)), ERROR(mlock(piece, 1 << 20)));
  }
}
MAIN_INSIDE_PROCESSES("memory", "data", "files", "size", "size ignored", "processor", "processes",
                      "signals", "locked")
"""

SOURCES["no_stack_pointer"] = r"""
static void handle(int number) { say("profiled\n"); _exit(4); }
MAIN {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGALRM, &action, NULL);
  ualarm(100000, 0);
  __asm__ volatile("xor %%rsp, %%rsp\n1: inc %%rax\n xor %%rbp, %%rbp\n jmp 1b" ::: "rax", "memory");
  return 0;
}
"""

SOURCES["waits_for_children"] = r"""
static volatile sig_atomic_t came;
static void handle(int number) { ++came; }
MAIN {
  int status = 0;
  say("none %ld\n", ERROR(waitpid(-1, &status, WNOHANG)));
  signal(SIGCHLD, handle);
  say("sleep %u\n", sleep(0));
  nap(60);
  say("signals %d\n", came);
  say("system %d\n", system("exit 3"));
  FILE* piped = popen("cat; echo $0; exit 4", "w");
  fputs("text\n", piped);
  say("%d\n", pclose(piped));
  signal(SIGCHLD, SIG_IGN);
  if (fork() == 0) _exit(1);
  say("reaped %ld\n", ERROR(wait(&status)));
  say("system %d\n", system("exit 3"));
  siginfo_t info = {};
  signal(SIGCHLD, SIG_DFL);
  const pid_t pid = fork();
  if (pid == 0) { raise(SIGSTOP); _exit(5); }
  say("%d %d\n", waitid(P_PID, (id_t)pid, &info, WSTOPPED), info.si_status);
  kill(pid, SIGCONT);
  say("%d %d\n", waitid(P_ALL, 0, &info, WEXITED), info.si_status);
  const int file = (int)syscall(SYS_pidfd_open, getpid(), 0);
  say("%d\n", poll(&(struct pollfd){file, POLLIN, 0}, 1, 10));
  return 0;
}
"""

SOURCES["contexts"] = r"""
static ucontext_t main_context, other;
static int turn;
static void body(void) { for (;;) { say("turn %d\n", turn); swapcontext(&other, &main_context); } }
MAIN {
  for (int i = 0; i < 2; ++i) {
    getcontext(&other);
    other.uc_stack.ss_size = 32768;
    other.uc_stack.ss_sp = malloc(32768);
    makecontext(&other, body, 0);
    for (turn = 0; turn < 3; ++turn) { swapcontext(&main_context, &other); nap(12); }
  }
  const pid_t pid = fork();
  if (pid == 0) { getcontext(&other); other.uc_stack.ss_sp = malloc(65536); other.uc_stack.ss_size = 65536;
                  makecontext(&other, (void (*)(void))exit, 1, 13); setcontext(&other); }
  ended("exit on a small stack", pid);
  return 0;
}
"""
