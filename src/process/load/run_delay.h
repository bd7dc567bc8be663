// RunDelay: how long a thread has waited for a processor while it could have run, because other
// threads had it. The kernel counts it; reading it costs about a microsecond.
#ifndef XSP_PROCESS_LOAD_RUN_DELAY_H_
#define XSP_PROCESS_LOAD_RUN_DELAY_H_

#include <cstdint>

namespace xsp::process {

// Thread rule: counts for the thread that made it.
class RunDelay {
 public:
  RunDelay();
  ~RunDelay();
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;

  // Returns the nanoseconds so far; -1: this kernel does not count them.
  int64_t ns() const;

 private:
  int file_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_RUN_DELAY_H_
