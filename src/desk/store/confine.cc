#include "desk/store/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace xsp::store {
namespace {

// ---- Files: Landlock

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kOfFirstVersion = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr uint64_t kRefer = 1 << 13;     // since version 2 of Landlock; headers may lack it
constexpr uint64_t kTruncate = 1 << 14;  // since version 3
constexpr uint64_t kDevices = 1 << 15;   // since version 5

void allow(int rules, const std::filesystem::path& path, uint64_t access) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = access;
  rule.parent_fd = fd;
  ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(fd);
}

long landlock_version() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

void confine_files(const Confinement& confinement) {
  const long version = landlock_version();
  if (version < 1) return;
  uint64_t handled = kOfFirstVersion;
  if (version >= 2) handled |= kRefer;
  if (version >= 3) handled |= kTruncate;
  if (version >= 5) handled |= kDevices;
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = handled;
  const int rules =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (rules < 0) return;
  for (const auto& path : confinement.read) allow(rules, path, kReadFile);
  // DuckDB reads the memory limit of its container, and fails if the file may not be read.
  for (const char* path : {"/proc/self/cgroup", "/sys/fs/cgroup"}) allow(rules, path, kReadFile);
  const uint64_t all_of_files = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR |
                                LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                                LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                LANDLOCK_ACCESS_FS_REMOVE_DIR | kTruncate;
  for (const auto& path : confinement.folders) allow(rules, path, all_of_files & handled);
  ::syscall(SYS_landlock_restrict_self, rules, 0);
  ::close(rules);
}

// ---- System calls: a seccomp filter

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr uint32_t kArchitecture = AUDIT_ARCH_PPC64LE;
#else
constexpr uint32_t kArchitecture = 0;
#endif

// The last system call that is known here. Newer ones fail as if they did not exist, and libraries
// do without them.
constexpr uint32_t kLastKnown = SYS_futex_waitv;

constexpr uint32_t kRefused[] = {
    // The network, and local sockets.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept4,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    // Starting programs, and access to other processes.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_process_madvise,
    SYS_setpriority,
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_setattr,
    SYS_setpgid,
    SYS_setsid,
    SYS_kcmp,
    // Calls that bypass the other rules.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fspick,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_personality,
    // Changes to files by name, which Landlock does not check.
    SYS_truncate,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_utimensat,
    SYS_fanotify_init,
    SYS_inotify_add_watch,
    // Memory that is shared with other processes.
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
#if defined(SYS_accept)
    SYS_accept,
#endif
#if defined(SYS_fork)
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};

constexpr sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }
constexpr sock_filter jump(uint16_t test, uint32_t value, uint8_t yes, uint8_t no) {
  return {static_cast<uint16_t>(BPF_JMP | test | BPF_K), yes, no, value};
}
constexpr sock_filter load(size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
constexpr sock_filter give(uint32_t action) { return statement(BPF_RET | BPF_K, action); }
constexpr uint32_t fail_with(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

// Returns the offset of the lower half of an argument. These machines are little endian.
constexpr size_t argument(size_t index) { return offsetof(seccomp_data, args) + 8 * index; }

void confine_calls() {
  if (kArchitecture == 0) return;
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
      give(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr)),
      jump(BPF_JGT, kLastKnown, 0, 1), give(fail_with(ENOSYS)),
      // The flags of clone3 are in memory, which a filter cannot read.
      jump(BPF_JEQ, SYS_clone3, 0, 1), give(fail_with(ENOSYS)),
      // Threads may be started, but processes may not.
      jump(BPF_JEQ, SYS_clone, 0, 4), load(argument(0)), jump(BPF_JSET, CLONE_THREAD, 1, 0),
      give(fail_with(EPERM)), give(SECCOMP_RET_ALLOW),
      // The process may signal its own threads: abort() does.
      jump(BPF_JEQ, SYS_tgkill, 0, 4), load(argument(0)),
      jump(BPF_JEQ, static_cast<uint32_t>(::getpid()), 1, 0), give(fail_with(EPERM)),
      give(SECCOMP_RET_ALLOW)};
  for (const uint32_t number : kRefused) {
    filter.push_back(jump(BPF_JEQ, number, 0, 1));
    filter.push_back(give(fail_with(EPERM)));
  }
  filter.push_back(give(SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void limit(__rlimit_resource_t what, rlim_t most) {
  rlimit now = {};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_max = std::min(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  ::setrlimit(what, &now);
}

}  // namespace

bool can_confine_files() { return landlock_version() >= 1; }

bool can_confine_calls() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return kArchitecture != 0 && ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void confine(const Confinement& confinement) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 256);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  limit(RLIMIT_DATA, confinement.memory_bytes != 0 ? confinement.memory_bytes : machine);
#endif
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  confine_files(confinement);
  confine_calls();
}

}  // namespace xsp::store
