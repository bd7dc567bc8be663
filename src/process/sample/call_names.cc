#include "process/sample/call_names.h"

#include <sys/syscall.h>

namespace xsp::process {
namespace {

struct CallName {
  int32_t number;
  const char* name;
};

constexpr CallName kNames[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_preadv, "preadv"},
    {SYS_pwritev, "pwritev"},
#ifdef SYS_preadv2
    {SYS_preadv2, "preadv2"},
#endif
#ifdef SYS_pwritev2
    {SYS_pwritev2, "pwritev2"},
#endif
#ifdef SYS_open
    {SYS_open, "open"},
#endif
    {SYS_openat, "openat"},
#ifdef SYS_openat2
    {SYS_openat2, "openat2"},
#endif
    {SYS_close, "close"},
#ifdef SYS_stat
    {SYS_stat, "stat"},
#endif
    {SYS_fstat, "fstat"},
#ifdef SYS_lstat
    {SYS_lstat, "lstat"},
#endif
#ifdef SYS_newfstatat
    {SYS_newfstatat, "newfstatat"},
#endif
#ifdef SYS_statx
    {SYS_statx, "statx"},
#endif
#ifdef SYS_access
    {SYS_access, "access"},
#endif
    {SYS_faccessat, "faccessat"},
    {SYS_lseek, "lseek"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_mremap, "mremap"},
    {SYS_mprotect, "mprotect"},
    {SYS_madvise, "madvise"},
    {SYS_msync, "msync"},
    {SYS_brk, "brk"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
#endif
    {SYS_ppoll, "ppoll"},
#ifdef SYS_select
    {SYS_select, "select"},
#endif
    {SYS_pselect6, "pselect6"},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait"},
#endif
    {SYS_epoll_pwait, "epoll_pwait"},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, "epoll_pwait2"},
#endif
    {SYS_ioctl, "ioctl"},
    {SYS_fcntl, "fcntl"},
    {SYS_flock, "flock"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_sync, "sync"},
    {SYS_syncfs, "syncfs"},
#ifdef SYS_sync_file_range
    {SYS_sync_file_range, "sync_file_range"},
#endif
    {SYS_ftruncate, "ftruncate"},
    {SYS_fallocate, "fallocate"},
    {SYS_futex, "futex"},
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, "futex_waitv"},
#endif
    {SYS_sched_yield, "sched_yield"},
#ifdef SYS_pause
    {SYS_pause, "pause"},
#endif
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendmmsg, "sendmmsg"},
#ifdef SYS_sendfile
    {SYS_sendfile, "sendfile"},
#endif
    {SYS_splice, "splice"},
    {SYS_tee, "tee"},
#ifdef SYS_copy_file_range
    {SYS_copy_file_range, "copy_file_range"},
#endif
    {SYS_getdents64, "getdents64"},
    {SYS_io_getevents, "io_getevents"},
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, "io_uring_enter"},
#endif
    {SYS_clone, "clone"},
#ifdef SYS_clone3
    {SYS_clone3, "clone3"},
#endif
#ifdef SYS_fork
    {SYS_fork, "fork"},
#endif
#ifdef SYS_vfork
    {SYS_vfork, "vfork"},
#endif
    {SYS_execve, "execve"},
    {SYS_exit, "exit"},
    {SYS_exit_group, "exit_group"},
    {SYS_kill, "kill"},
    {SYS_tgkill, "tgkill"},
#ifdef SYS_semop
    {SYS_semop, "semop"},
#endif
#ifdef SYS_semtimedop
    {SYS_semtimedop, "semtimedop"},
#endif
    {SYS_msgrcv, "msgrcv"},
    {SYS_msgsnd, "msgsnd"},
    {SYS_mq_timedreceive, "mq_timedreceive"},
    {SYS_mq_timedsend, "mq_timedsend"},
    {SYS_getrandom, "getrandom"},
#ifdef SYS_rename
    {SYS_rename, "rename"},
#endif
    {SYS_renameat2, "renameat2"},
#ifdef SYS_unlink
    {SYS_unlink, "unlink"},
#endif
    {SYS_unlinkat, "unlinkat"},
#ifdef SYS_mkdir
    {SYS_mkdir, "mkdir"},
#endif
    {SYS_mkdirat, "mkdirat"},
    {SYS_restart_syscall, "restart_syscall"},
    {SYS_process_vm_readv, "process_vm_readv"},
#ifdef SYS_fadvise64
    {SYS_fadvise64, "fadvise64"},
#endif
    {SYS_inotify_add_watch, "inotify_add_watch"},
#ifdef SYS_pidfd_open
    {SYS_pidfd_open, "pidfd_open"},
#endif
#ifdef SYS_membarrier
    {SYS_membarrier, "membarrier"},
#endif
    {SYS_set_robust_list, "set_robust_list"},
#ifdef SYS_userfaultfd
    {SYS_userfaultfd, "userfaultfd"},
#endif
    {SYS_shmat, "shmat"},
    {SYS_mlock, "mlock"},
    {SYS_munlock, "munlock"},
    {SYS_ptrace, "ptrace"},
};

}  // namespace

const char* name_of_call(int32_t number) {
  for (const CallName& call : kNames) {
    if (call.number == number) return call.name;
  }
  return nullptr;
}

}  // namespace xsp::process
