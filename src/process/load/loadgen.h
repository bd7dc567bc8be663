// LoadgenSource: requests that come from MLPerf LoadGen.
//
// LoadGen is a library with one global test in a process. Its threads call IssueQuery() when a
// request is due, and the source puts the request into a queue for the thread that serves. The
// arrival of a request is the time for which LoadGen scheduled it, from which LoadGen counts the
// latency, too; LoadGen's interface does not tell it, so it is read from LoadGen's own record of
// the query, for which the identifier of a request stands. LoadGen's clock is the system's, and
// each arrival is converted with the difference of both clocks at that moment.
//
// Every request that LoadGen issues must be answered, or its test never ends. So end() answers
// those that were abandoned, too; LoadGen counts these as answered then.
//
// Thread rule: that of Source; LoadGen's threads come and go inside.
#ifndef XSP_PROCESS_LOAD_LOADGEN_H_
#define XSP_PROCESS_LOAD_LOADGEN_H_

#include <deque>
#include <memory>
#include <span>

#include "process/load/serve.h"
#include "process/load/settings.h"
#include "shared/base/result.h"

namespace xsp::process {

class LoadgenSource : public Source {
 public:
  // Starts the test. LoadGen logs the texts of the answers in its accuracy mode.
  static std::unique_ptr<LoadgenSource> start(const LoadSettings& settings);
  ~LoadgenSource() override;

  void take(int64_t now_ns, std::deque<LoadRequest>* queue) override;
  int64_t next_ns() override;
  void wait_until(int64_t ns, Clock& clock) override;
  void wake(Clock& clock) override;
  void answered(std::span<const LoadRequest> batch, std::span<const std::string> texts,
                int64_t done_ns) override;
  bool has_ended() override;

  // Waits until LoadGen has written its logs. Returns the number of requests that were issued and
  // not answered. Fails if LoadGen failed.
  Result<uint64_t> end();
  // Leaves the test to itself, because LoadGen cannot be ended before its schedule is over: its
  // threads go on until the process ends, which must not destroy what they use (_exit). Returns the
  // number of requests that were issued and not answered.
  uint64_t leave();

 private:
  class Test;
  explicit LoadgenSource(std::unique_ptr<Test> test);

  std::unique_ptr<Test> test_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_LOADGEN_H_
