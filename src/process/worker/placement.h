// Placement: where the threads of this process begin to run.
//
// On a machine whose processors are all busy, the scheduler leaves a thread on the processor where
// it happened to wake. Two threads of a model may so share one processor for seconds, while those
// of the next process have one each. When two models are compared in turns, each pair of turns
// therefore begins on the same processors.
#ifndef XSP_PROCESS_WORKER_PLACEMENT_H_
#define XSP_PROCESS_WORKER_PLACEMENT_H_

#include <sched.h>
#include <sys/types.h>

#include <vector>

namespace xsp::process {

// While it exists, the k-th thread of this process runs only on the processor number
// (first + k) % n of the n processors that the calling thread may use. In this order, the first
// thread of every core comes before the second. Threads that may use other processors than the
// calling thread are left alone: a framework has placed them. Afterwards, every thread may use the
// same processors as before, and so may threads that were started meanwhile, unless they were given
// several others.
class Placement {
 public:
  explicit Placement(unsigned first);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

 private:
  cpu_set_t allowed_{};
  std::vector<pid_t> left_alone_;
};

struct Processor {
  int number = 0;
  int core = 0;  // two processors are of one core if this is equal
};
// Returns the processors' numbers: one of each core first, then a second one of each, and so on.
std::vector<int> cores_first(const std::vector<Processor>& processors);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_PLACEMENT_H_
