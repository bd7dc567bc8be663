// Chunks that are made elsewhere: those of the sampler of stacks in libxsp-attach.so (watcher.h).
#include <errno.h>

#include "base/keep_errno.h"
#include "base/no_cancel.h"
#include "capture/annotate/session.h"
#include "capture/annotate/watcher.h"

namespace xsp::capture {
namespace {

class Locked {
 public:
  Locked() { lock_before_drainer(&session.lock); }
  ~Locked() { pthread_mutex_unlock(&session.lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  NoCancel no_cancel_;
};

}  // namespace
}  // namespace xsp::capture

namespace c = xsp::capture;

int xsp_append_chunk(uint32_t type, uint8_t* buffer, size_t payload_bytes) {
  const xsp::KeepErrno keep_errno;
  const c::Locked locked;
  if (c::session.state != c::State::kRecording) return ENODEV;
  return c::session.writer.append(static_cast<xsp::trace::ChunkType>(type), buffer, payload_bytes);
}

void xsp_count_samples(uint64_t count) {
  const c::Locked locked;
  if (c::session.state != c::State::kRecording) return;
  uint64_t* samples = &c::session.writer.session()->samples;
  xsp::trace::store(samples, xsp::trace::load(*samples) + count);
}
