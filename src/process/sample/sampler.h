// The sampler: a thread that looks many times a second at the places of the program's threads, and
// writes them to the trace.
//
// It does not disturb the program: it sends no signal, takes no lock of the program or its
// interpreter, and stops no thread. It reads memory as foreign memory. It measures its own
// processor time, and looks less often if looks cost more than its share.
//
// It looks 200 times a second at most, with jitter, so that it does not keep time with anything
// that repeats, and takes at most 0.8 % of a processor; the interrupts of running threads come on
// top. Each sample says how long it stands for, so that sums are right at any rate. Refused:
// signals (SIGPROF lets system calls of the program fail with EINTR, and handlers run on small
// stacks); sys.setprofile and sys.monitoring, which slow each call and show no thread that waits;
// Python's lock and sys._current_frames, where the holder of the lock is never at the place where
// it computes; another process that reads with ptrace rights (py-spy, Austin), which containers
// refuse, and of which each process of a command would need one.
//
// The thread has a file table of its own (close_range with CLOSE_RANGE_UNSHARE), because a program
// that closes descriptor 0 and opens a file expects number 0. The drainer, which has the program's
// table, writes the chunks. If the system refuses a table, no thread samples, and that is counted.
//
// A child of a fork has a sampler from its first span on, and a child that Python forks from its
// beginning (os.register_at_fork). Refused: a thread in every child of a fork, because a process
// with two threads may not change its user's namespace, which is why many programs fork.
#ifndef XSP_PROCESS_SAMPLE_SAMPLER_H_
#define XSP_PROCESS_SAMPLE_SAMPLER_H_

#include <stdint.h>

namespace xsp::process {

// Allows sampling from now on, at this rate; 0 forbids it. Called on a thread of the program,
// because the search for an interpreter takes the loader's lock.
void prepare_sampling(uint32_t rate_hz);
// Starts the sampler if it was prepared, and writes its samples. Called on the drainer's thread
// with every pass.
void keep_sampling();
// Between these two calls the process has no sampler thread, and the sampler neither begins nor
// ends.
void pause_sampling();
void resume_sampling();
// Stops looking, writes the samples, and notes on the site what could not be sampled. The recording
// must not have ended yet, and the calling thread holds none of its locks.
void end_sampling(uint32_t site);
// Forgets the sampler in the child of a fork, which has no sampler thread.
void forget_sampling();

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_SAMPLER_H_
