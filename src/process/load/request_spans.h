// RequestSpans: emits the spans of answered requests.
//
// Requests overlap in time, so each one that is being answered has a thread number of its own,
// which is no thread's: the largest numbers that are possible, downwards. A span `request` (level
// application) holds the spans `queue`, `batch`, `pipeline` and `output` of its parts on that
// thread, and these hold the pipeline's steps; parts without duration are left out. The model's
// span is on the model's thread. It has the attribute `request`, the number of the first request of
// its batch, and the desk makes that request its parent. Every request has the attributes `request`
// (its number), `batch` (the number of its batch), `position` (its place in the batch, from 0) and
// `instance` (the number of the model's instance that answered it, from 0); where they are known,
// `waited_ns` and `clock_mhz` are those of Answer.
#ifndef XSP_PROCESS_LOAD_REQUEST_SPANS_H_
#define XSP_PROCESS_LOAD_REQUEST_SPANS_H_

#include <cstdint>
#include <set>
#include <span>

#include "process/load/serve.h"

namespace xsp::process {

inline constexpr const char* kRequestKey = "request";

class RequestSpans {
 public:
  RequestSpans();
  // `steps`: those of each request of the batch, or none.
  void emit(std::span<const Answer> batch, std::span<const std::vector<StepTime>> steps);

 private:
  // A thread number, and when its last request ended.
  struct Slot {
    int64_t end_ns = 0;
    uint32_t thread = 0;
    bool operator<(const Slot& other) const {
      return end_ns != other.end_ns ? end_ns < other.end_ns : thread > other.thread;
    }
  };
  uint32_t thread_for(const Answer& answer);
  void emit_part(uint32_t site, uint32_t thread, int64_t start_ns, int64_t end_ns) const;

  std::set<Slot> slots_;
  uint32_t request_site_ = 0, queue_site_ = 0, batch_site_ = 0, pipeline_site_ = 0,
           output_site_ = 0;
  uint32_t request_key_ = 0, batch_key_ = 0, position_key_ = 0, instance_key_ = 0, waited_key_ = 0,
           clock_key_ = 0;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_REQUEST_SPANS_H_
