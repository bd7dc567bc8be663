"""More difficult programs in C: their use of the system, of the loader and of threads."""

SOURCES = {}
FLAGS = {"static": ["-static"], "static_pie": ["-static-pie"], "library": ["-shared", "-fPIC"],
         "audit": ["-shared", "-fPIC"], "loads": ["-ldl", "-rdynamic"]}

SOURCES["filters"] = r"""
static void inside(const char* how) {
  if (!strcmp(how, "strict")) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); say("strict\n");
      syscall(SYS_exit, 3); }
  if (!strcmp(how, "strict killed")) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); syscall(SYS_getpid); }
  if (!strcmp(how, "errors")) {
    const int calls[] = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_openat, SYS_mmap, SYS_mprotect,
        SYS_munmap,
                         SYS_futex, SYS_nanosleep, SYS_clock_nanosleep};
    say("%d\n", filter_calls(calls, 11, SECCOMP_RET_ERRNO | ENOSYS));
    say("%ld\n", ERROR(open("/dev/null", O_RDONLY)));
    exit(4);
  }
  if (!strcmp(how, "killed")) {
    const int calls[] = {SYS_openat, SYS_clone, SYS_clone3, SYS_mmap, SYS_process_vm_readv, SYS_fsync};
    say("%d\n", filter_calls(calls, 6, SECCOMP_RET_KILL_PROCESS));
    nap(20);
    exit(5);
  }
  if (!strcmp(how, "killed in fact")) {
    const int calls[] = {SYS_getppid};
    filter_calls(calls, 1, SECCOMP_RET_KILL_PROCESS);
    getppid();
  }
  if (!strcmp(how, "trapped")) {
    const int calls[] = {SYS_getppid};
    filter_calls(calls, 1, SECCOMP_RET_TRAP);
    getppid();
  }
  if (!strcmp(how, "then executes")) {
    const int calls[] = {SYS_getppid, SYS_process_vm_readv, SYS_close_range, SYS_unshare, SYS_flock};
    filter_calls(calls, 5, SECCOMP_RET_ERRNO | EPERM);
    execl("/bin/sh", "sh", "-c", "echo within; /bin/true; exit 8", (char*)0);
  }
}
MAIN {
  const char* hows[] = {"strict", "strict killed", "errors", "killed", "killed in fact", "trapped",
      "then executes"};
  for (unsigned i = 0; i < sizeof hows / sizeof *hows; ++i) {
    const pid_t pid = fork();
    if (pid == 0) { inside(hows[i]); _exit(66); }
    ended(hows[i], pid);
  }
  const int calls[] = {SYS_openat, SYS_clone3, SYS_mmap};
  say("%d\n", filter_calls(calls, 3, SECCOMP_RET_KILL_PROCESS));
  return 9;
}
"""

SOURCES["filter_synchronised"] = r"""
static volatile int done;
static void* wait_long(void* none) { while (!done) nap(1); say("thread %d\n", prctl(PR_GET_SECCOMP));
    return NULL; }
MAIN {
  pthread_t thread;
  struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, code};
  pthread_create(&thread, NULL, wait_long, NULL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  say("%ld\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
  done = 1;
  pthread_join(thread, NULL);
  return 2;
}
"""

SOURCES["controls"] = r"""
static void* child_of_thread(void* none) {
  const pid_t pid = fork();
  if (pid == 0) { prctl(PR_SET_PDEATHSIG, SIGUSR1); nap(3000); _exit(0); }
  nap(30);
  *(pid_t*)none = pid;
  return NULL;
}
MAIN {
  pid_t pid = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, child_of_thread, &pid);
  pthread_join(thread, NULL);
  ended("dies with its parent's thread", pid);
  say("dumpable %d\n", prctl(PR_SET_DUMPABLE, 0) * 10 + prctl(PR_GET_DUMPABLE));
  say("own memory %d\n", open("/proc/self/mem", O_RDONLY) >= 0);
  say("subreaper %d\n", prctl(PR_SET_CHILD_SUBREAPER, 1));
  if ((pid = fork()) == 0) { if (fork() == 0) { nap(30); _exit(21); } _exit(20); }
  ended("first", pid);
  ended("orphan", -1);
  say("name %d %d\n", prctl(PR_SET_NAME, "renamed"), prctl(PR_SET_TIMERSLACK, 1000000));
  say("privileges %d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if ((pid = fork()) == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); _exit(7); }
  ended("no counter", pid);
  if ((pid = fork()) == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); __builtin_ia32_rdtsc(); _exit(7); }
  ended("counter", pid);
  if ((pid = fork()) == 0) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); execl("/bin/true", "true", (char*)0); }
  ended("executes without", pid);
  execl("/bin/grep", "grep", "-E", "^(Name|NoNewPrivs|Sig[BI])", "/proc/self/status", (char*)0);
  return 1;
}
"""

SOURCES["closes"] = r"""
static void inside(const char* how) {
  const int keep = 1;
  if (!strcmp(how, "range")) syscall(SYS_close_range, 3, ~0u, 0);
  if (!strcmp(how, "range of all")) { dup2(keep, 900); syscall(SYS_close_range, 0, 899, 0);
      syscall(SYS_close_range, 901, ~0u, 0); }
  if (!strcmp(how, "from")) closefrom(3);
  if (!strcmp(how, "each")) for (int i = 3; i < 4096; ++i) close(i);
  if (!strcmp(how, "on exec")) syscall(SYS_close_range, 3, ~0u, 4);
  if (!strcmp(how, "unshared")) syscall(SYS_close_range, 3, ~0u, 2);
  const int out = fcntl(900, F_GETFD) < 0 ? 1 : 900;
  const int first = open("/dev/null", O_RDONLY), second = open("/dev/zero", O_RDONLY);
  dprintf(out, "%s: %d %d %d\n", how, first, second, fcntl(0, F_DUPFD, 495) - 495);
  for (int i = 496; i < 700; i += 13) dup2(second, i);
  char zero[4] = "xxx";
  dprintf(out, "%zd %d\n", read(509, zero, 2), zero[0]);
  dup2(out, 1);
  execl("/bin/sh", "sh", "-c", "echo executed; (exit 3); exit $?", (char*)0);
}
MAIN {
  const char* hows[] = {"nothing", "range", "range of all", "from", "each", "on exec", "unshared"};
  for (unsigned i = 0; i < sizeof hows / sizeof *hows; ++i) {
    const pid_t pid = fork();
    if (pid == 0) { inside(hows[i]); _exit(66); }
    ended(hows[i], pid);
  }
  for (int i = 3; i < 2000; ++i) if (fcntl(i, F_GETFD) >= 0 && !(fcntl(i,
      F_GETFD) & FD_CLOEXEC)) say("open: %d\n", i);
  return 0;
}
"""

SOURCES["takes_numbers"] = r"""
MAIN {
  int wrong = 0;
  for (int i = 3; i < 1020; ++i) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i % 40);
    const int fd = open(name, O_CREAT | O_RDWR | O_APPEND, 0600);
    if (dup2(fd, i) != i) ++wrong;
    if (fd != i) close(fd);
  }
  for (int i = 3; i < 1020; ++i) if (dprintf(i, "%d\n", i) < 2) ++wrong;
  say("wrong %d\n", wrong);
  for (int i = 3; i < 1020; ++i) if (close(i) != 0) ++wrong;
  say("wrong %d, next %d\n", wrong, dup(1));
  return 0;
}
"""

SOURCES["traces"] = r"""
MAIN {
  int status = 0, calls = 0, stops = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 3", (char*)0);
  }
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT);
  for (ptrace(PTRACE_CONT, pid, 0, 0); waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);) {
    const int number = WSTOPSIG(status);
    say("stop %d event %d\n", number, status >> 16);
    ++stops;
    ptrace(PTRACE_CONT, pid, 0, number == SIGTRAP ? 0 : number);
  }
  say("%d stops, %s %d, calls %d\n", stops, WIFSIGNALED(status) ? "signal" : "exit",
      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), calls);
  say("traces me %ld\n", ptrace(PTRACE_TRACEME, 0, 0, 0));
  return 0;
}
"""

SOURCES["namespaces"] = r"""
static int in_clone(void* what) { say("first of all %d\n", getpid() == 1); return 6; }
static void inside(const char* how) {
  int done = -1;
  if (!strcmp(how, "user")) { done = unshare(CLONE_NEWUSER); say("%d %d\n", done, getuid()); }
  if (!strcmp(how, "mount")) { done = unshare(CLONE_NEWNS);
                               say("%d\n", done); }
  if (!strcmp(how, "files")) { done = unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM); say("%d\n", done); }
  if (!strcmp(how, "memory")) { done = unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD); say("%d\n", done); }
  if (!strcmp(how, "process")) {
    done = unshare(CLONE_NEWPID);
    const pid_t pid = fork();
    if (pid == 0) { say("first %d\n", getpid()); if (fork() == 0) { say("second %d\n", getpid()); _exit(0); }
                    ended("within", -1); execl("/bin/sh", "sh", "-c", "echo $$; exit 4", (char*)0); }
    ended("namespace", pid);
  }
  if (!strcmp(how, "own")) { const int fd = open("/proc/self/ns/user", O_RDONLY);
                             say("%ld\n", ERROR(setns(fd, 0))); }
  if (!strcmp(how, "root")) { mkdir("root", 0700); done = chroot("root"); chdir("/");
                              say("%d %d\n", done, open("/etc/passwd", O_RDONLY));
                              if (fork() == 0) _exit(3); else ended("below", -1); }
  if (!strcmp(how, "clone")) { char* stack = malloc(1 << 20);
    const pid_t pid = clone(in_clone, stack + (1 << 20), CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD, NULL);
    ended("cloned", pid);
    ended("shares", clone(in_clone, stack + (1 << 20), CLONE_VM | CLONE_FS | SIGCHLD, NULL)); }
}
MAIN_INSIDE_PROCESSES("user", "mount", "files", "memory", "process", "own", "root", "clone")
"""

SOURCES["raw_clone"] = r"""
static volatile int ran;
static int in_clone(void* what) { ran = 1; return 6; }
MAIN {
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) { say("raw %d\n", i); syscall(SYS_exit_group, i); }
    ended("raw clone", pid);
  }
  const pid_t forked = (pid_t)syscall(SYS_fork);
  if (forked == 0) execl("/bin/sh", "sh", "-c", "exit 31", (char*)0);
  ended("raw fork", forked);
  char* stack = malloc(1 << 18);
  ended("shares memory", clone(in_clone, stack + (1 << 18), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
  say("ran %d\n", ran);
  const pid_t last = clone(in_clone, stack + (1 << 18), CLONE_FILES | CLONE_PARENT_SETTID | SIGCHLD,
      NULL, &ran);
  ended("shares files", last);
  return 0;
}
"""

SOURCES["threads"] = r"""
static pthread_key_t key;
static __thread int own = 5;
static int ended_count, turns[600];
static void at_end(void* value) { __atomic_add_fetch(&ended_count, 1, 5); }
static void* work(void* of) { own += 1; pthread_setspecific(key, of); turns[(long)of] = own; return of; }
static void before(void) { say("before\n"); }
static void after(void) { say("parent\n"); }
static int is_child;
static void in_child(void) { is_child = 1; }
static void* forks(void* none) {
  const pid_t pid = fork();
  if (pid == 0) { pthread_t thread; pthread_create(&thread, NULL, work, (void*)1L); pthread_join(thread,
      NULL);
                  exit(turns[1] * 10 + is_child); }
  ended("forked in a thread", pid);
  return NULL;
}
MAIN {
  pthread_attr_t small;
  pthread_t threads[600], one;
  pthread_attr_init(&small);
  say("least %d\n", pthread_attr_setstacksize(&small, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
  pthread_key_create(&key, at_end);
  for (long i = 1; i < 600; ++i) if (pthread_create(&threads[i], &small, work,
      (void*)i) != 0) say("refused %ld\n", i);
  long sum = 0;
  for (long i = 1; i < 600; ++i) { void* result; pthread_join(threads[i], &result);
      sum += (long)result + turns[i]; }
  say("sum %ld, ended %d\n", sum, ended_count);
  pthread_atfork(before, after, in_child);
  pthread_create(&one, NULL, forks, NULL);
  pthread_join(one, NULL);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  for (long i = 1; i < 50; ++i) pthread_create(&threads[i], &small, work, (void*)i);
  pthread_exit(NULL);
}
"""

SOURCES["robust"] = r"""
struct shared { pthread_mutex_t lock; sem_t sem; int value; };
MAIN {
  struct shared* all = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&all->lock, &kind);
  sem_init(&all->sem, 1, 0);
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = fork();
    if (pid == 0) { const int got = pthread_mutex_lock(&all->lock);
        if (got) pthread_mutex_consistent(&all->lock);
                    all->value += 1 + got; sem_post(&all->sem); i % 2 ? kill(getpid(), SIGKILL) : _exit(2); }
    sem_wait(&all->sem);
    ended("holder", pid);
  }
  say("%d %d\n", all->value, pthread_mutex_lock(&all->lock));
  return 0;
}
"""

SOURCES["memory"] = r"""
static void* thread(void* none) { return malloc(100); }
MAIN {
  void* low = mmap((void*)0x10000000, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  say("low %p\n", low);
  unsigned char* code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, "\xb8\x2a\x00\x00\x00\xc3", 6);
  say("code %d\n", ((int (*)(void))code)());
  char* wiped = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *wiped = 9;
  say("wipe %d\n", madvise(wiped, 4096, MADV_WIPEONFORK));
  const pid_t pid = fork();
  if (pid == 0) _exit(*wiped);
  ended("wiped", pid);
  char* grown = sbrk(1 << 20);
  memset(grown, 1, 1 << 20);
  say("brk %d\n", sbrk(0) == grown + (1 << 20));
  say("lock %d\n", mlockall(MCL_CURRENT));
  munlockall();
  pthread_t one;
  for (int i = 0; i < 50; ++i) { void* piece; pthread_create(&one, NULL, thread, NULL);
      pthread_join(one, &piece); free(piece); }
  unsigned char here = 0;
  say("core %d\n", mincore((void*)((uintptr_t)&here & ~4095ul), 4096, &here));
  const pid_t other = fork();
  if (other == 0) { munmap((void*)((uintptr_t)code), 4096); ((int (*)(void))code)(); }
  ended("unmapped", other);
  return 0;
}
"""

SOURCES["changes_users"] = r"""
static void* other(void* none) { nap(20); say("thread %d %d\n", getuid(), getgid()); return NULL; }
MAIN {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  say("%d %d\n", setgid(65533), setuid(65533));
  pthread_join(thread, NULL);
  say("back %d\n", setuid(0));
  if (fork() == 0) { execl("/bin/sh", "sh", "-c", "id -u; id -g; exit 0", (char*)0); }
  wait(NULL);
  return 3;
}
"""

SOURCES["polls"] = r"""
MAIN {
  const int queue = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), event = eventfd(0, 0);
  const int watch = inotify_init1(0);
  say("descriptors %d %d %d %d\n", queue, timer, event, watch);
  inotify_add_watch(watch, ".", IN_CREATE | IN_DELETE);
  for (int i = 0; i < 4; ++i) {
    const int fds[] = {timer, event, watch, 0};
    struct epoll_event one = {EPOLLIN, {.fd = fds[i]}};
    say("%d\n", epoll_ctl(queue, EPOLL_CTL_ADD, fds[i], &one));
  }
  struct itimerspec soon = {{0, 0}, {0, 5000000}};
  timerfd_settime(timer, 0, &soon, NULL);
  nap(30);
  uint64_t one = 3;
  write(event, &one, 8);
  close(open("made", O_CREAT | O_WRONLY, 0600));
  unlink("made");
  struct epoll_event got[8];
  say("ready %d\n", epoll_wait(queue, got, 8, 100));
  char text[4096];
  const ssize_t length = read(watch, text, sizeof text);
  for (char* at = text; at < text + length;
      at += sizeof(struct inotify_event) + ((struct inotify_event*)at)->len)
    say("%s\n", ((struct inotify_event*)at)->name);
  return 0;
}
"""

SOURCES["library"] = r"""
static int is_xsp(void) { return !strcmp(program_invocation_short_name, "xsp"); }
static __attribute__((constructor)) void begin(void) { if (!is_xsp()) say("library begins, %d\n", errno); }
static __attribute__((destructor)) void end(void) { if (!is_xsp()) say("library ends\n"); }
int answer(void) { return 42; }
static __thread int turns;
int turn(void) { return ++turns; }
unsigned sleep(unsigned seconds) { say("sleeps %u\n", seconds); return seconds; }
"""
SOURCES["audit"] = r"""
unsigned la_version(unsigned version) { return version; }
"""
SOURCES["loads"] = r"""
static void* use(void* library) { return (void*)(long)((int (*)(void))dlsym(library, "turn"))(); }
MAIN {
  char path[4096];
  snprintf(path, sizeof path, "%s/library", getenv("PROGRAMS"));
  for (int i = 0; i < 100; ++i) {
    void* library = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_LOCAL);
    if (!library) { say("%s\n", dlerror()); return 1; }
    if (((int (*)(void))dlsym(library, "answer"))() != 42) say("wrong\n");
    pthread_t thread;
    void* turns;
    pthread_create(&thread, NULL, use, library);
    pthread_join(thread, &turns);
    if (i > 97) say("turns %ld, closed %d\n", (long)turns, dlclose(library)); else dlclose(library);
  }
  void* apart = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  say("apart %d\n", apart ? ((int (*)(void))dlsym(apart, "answer"))() : -1);
  say("not there: %d\n", dlopen("./none.so", RTLD_NOW) == NULL);
  say("own %d\n", dlsym(RTLD_DEFAULT, "main") != NULL);
  void* (*next)(size_t) = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  say("next %d\n", next != NULL && next(10) != NULL);
  return (int)sleep(0);
}
"""
SOURCES["static"] = r"""
static void* work(void* none) { return none; }
MAIN {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  const pid_t pid = fork();
  if (pid == 0) execl("/bin/sh", "sh", "-c", "exit 3", (char*)0);
  ended("child", pid);
  return 12;
}
"""
SOURCES["static_pie"] = SOURCES["static"]

SOURCES["environment"] = r"""
MAIN {
  if (argc > 1) { for (char** one = envp; *one; ++one) say("%s\n", *one); return 0; }
  pid_t pid = fork();
  if (pid == 0) { clearenv(); execl("/proc/self/exe", "e", "x", (char*)0); }
  ended("cleared", pid);
  if ((pid = fork()) == 0) { environ = NULL; setenv("ONE", "1", 1); execl("/proc/self/exe", "e", "x",
      (char*)0); }
  ended("replaced", pid);
  if ((pid = fork()) == 0) { unsetenv("LD_PRELOAD"); unsetenv("PATH"); execl("/proc/self/exe", "e", "x",
      (char*)0); }
  ended("less", pid);
  char* list[] = {"LD_PRELOAD=", "=", "A", "A=1", "A=2", "B=\xff\xfe", NULL};
  char* again[] = {"e", "x", NULL};
  if ((pid = fork()) == 0) execve("/proc/self/exe", again, list);
  ended("odd", pid);
  return 0;
}
"""
