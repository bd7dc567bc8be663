// The remaining functions of xsp.h. They call the session and the tables.
#include <string.h>

#include "process/record/emit.h"
#include "process/record/session.h"
#include "process/record/tables.h"

namespace c = xsp::process;

extern "C" {

int xsp_start(const xsp_options* options) {
  xsp_options complete = {};
  if (options != nullptr) {
    const size_t size = options->struct_size;
    memcpy(&complete, options, size < sizeof complete ? size : sizeof complete);
  }
  return c::start(complete);
}
int xsp_stop(void) {
  if (c::session.watcher.load() == nullptr) return c::stop(false);
  c::flush();
  return 0;
}
int xsp_end_recording(int counts_late) { return c::stop(counts_late != 0); }
void xsp_be_quiet(void) { c::session.is_quiet = true; }
void xsp_leave_descriptor(int number) { c::leave_descriptor(number); }
void xsp_pause(void) { c::pause(); }
void xsp_resume(void) { c::resume(); }
void xsp_join(void) {
  if ((c::session.generation.load(std::memory_order_relaxed) & 1) == 0) (void)c::joined_lane();
}
int xsp_is_watched(void) { return c::session.watcher.load() != nullptr; }
void xsp_flush(void) { c::flush(); }
int xsp_flush_within(uint32_t milliseconds) { return c::flush_within(milliseconds); }
void xsp_set_levels(uint32_t levels) { c::set_levels(levels, 0); }

uint32_t xsp_intern_site(uint32_t level, const char* name, const char* type) {
  const uint32_t id = c::intern_site(level, name, type);
  c::write_new_tables();
  return id;
}
uint32_t xsp_new_site(uint32_t level, const char* name, const char* type) {
  const uint32_t id = c::new_site(level, name, type);
  c::write_new_tables();
  return id;
}
void xsp_site_attribute(uint32_t site_id, const char* key, const char* value) {
  c::add_site_attribute(site_id, key, value);
}
void xsp_site_counter(uint32_t site_id, const char* key, double value) {
  c::add_site_counter(site_id, key, value);
}
uint32_t xsp_intern_key(const char* key) { return c::intern_key(key); }
void xsp_get_counts(xsp_counts* counts) { c::get_counts(counts); }
void xsp_count_loss(const char* source, const char* cause, uint64_t count) {
  c::count_loss(source, cause, count);
}

}  // extern "C"
