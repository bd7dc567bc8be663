// Functions that libxsp-attach.so calls on the file (watcher.h): one appends chunks that the stack
// sampler made, another moves the file's descriptor to another number.
#include <errno.h>
#include <unistd.h>

#include "process/record/session.h"
#include "process/record/watcher.h"
#include "shared/base/keep_errno.h"
#include "shared/base/no_cancel.h"

namespace xsp::process {
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

void leave_descriptor(int number) {
  if (session.writer.descriptor() != number) return;
  KeepErrno keep_errno;
  // A child of vfork has its own descriptors but shares our memory.
  if (session.process_id != getpid()) return;
  const Locked locked;
  if (session.writer.descriptor() == number) session.writer.move_descriptor();
}

}  // namespace xsp::process

namespace c = xsp::process;

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
