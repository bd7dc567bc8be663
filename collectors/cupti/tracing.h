// Tracing: a run in which CUPTI records events as they happen.
//
// Records become spans on a thread of the collector. Refused: callbacks at every launch, which cost
// as much as the records and would run in the program's threads.
//
// CUPTI is never finalised, because cuptiFinalize is safe only while no thread is inside CUDA.
#ifndef XSP_COLLECTORS_CUPTI_TRACING_H_
#define XSP_COLLECTORS_CUPTI_TRACING_H_

#include <cupti.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/driver.h"
#include "collectors/cupti/graphs.h"
#include "collectors/cupti/library.h"
#include "collectors/cupti/records.h"
#include "xsp/plugin.h"

namespace xsp::cupti {

// Returns the obstacle to tracing here, or an empty string if there is none. Reports notes for the
// user.
std::string obstacle(const xsp_host* host, const Library& library);

class Tracing {
 public:
  // The library and the driver outlive this object. Complete spans are emitted every flush_ms,
  // unless that is 0.
  Tracing(const Library& library, const Driver& driver, uint32_t levels, uint32_t flush_ms);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  // Fails through host->fail, and then leaves nothing enabled.
  xsp_status start(const xsp_host* host);
  // Records the given levels, as far as they are its own, from now on.
  void set_levels(uint32_t levels);
  // Emits all pending spans.
  void stop();

 private:
  static void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records_max);
  static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer,
                                   size_t capacity, size_t size);
  static void CUPTIAPI resource_event(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                      const void* data);

  void subscribe(const xsp_host* host);
  void unsubscribe();
  // Enables the kinds of these levels.
  CUptiResult enable_kinds(uint32_t levels, const char** what);
  void disable_kinds(uint32_t levels);
  void on_graph(CUpti_CallbackId id, const CUpti_GraphData& data);

  const Library& library_;
  const uint32_t levels_;
  const uint32_t flush_ms_;
  GraphNotes notes_;
  Calls runtime_;
  Calls driver_calls_;
  Records records_;
  std::unique_ptr<Buffers> buffers_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex switching_;
  uint32_t enabled_ = 0;  // levels whose kinds are enabled
  bool is_subscribed_ = false;
  bool is_started_ = false;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_TRACING_H_
