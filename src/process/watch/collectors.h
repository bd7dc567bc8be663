// The collectors of a process that `xsp run` watches. They are loaded when the process first uses
// the thing that they watch, and are stopped when the process ends.
//
// $XSP_COLLECTORS names them, as KIND=PATH, separated by ':'. Collectors of the kind `host` start
// with the recording. Collectors of a kind of device ("cuda") start when the process first uses
// such a device: a process that never does loads nothing. The state of each collector is a fact of
// the process's site.
//
// Any thread may call these functions, one call at a time; a signal handler may call stop, too.
#ifndef XSP_PROCESS_WATCH_COLLECTORS_H_
#define XSP_PROCESS_WATCH_COLLECTORS_H_

#include <stdint.h>

namespace xsp::process {

// Loads and starts the collectors of that kind that emit a level which may be recorded, now or
// later. `site` is the process's site.
void start_collectors(const char* kind, uint32_t site);
// Makes the running collectors record these levels from now on, as far as they were started with
// them. It does not wait: if another thread is in a call, that thread applies the levels.
void set_collector_levels(uint32_t levels);
// Returns the bits of the levels that the running collectors were started with.
uint32_t collected_levels();
// Lets the running collectors emit their complete spans, and stops them, on a separate thread: the
// caller may have interrupted a thread that holds a lock. The caller gives up waiting when there is
// no more progress.
void stop_collectors();
// The program itself takes the resource that the collectors of this kind need; `why` says so. Stops
// them if any is running, and starts none of this kind any more.
void yield_collectors(const char* kind, const char* why);
// Ends the thread that stops collectors: there is nothing left to stop.
void end_stopping_thread();
// These two end that thread, if there is one, and start it again, around calls that a process with
// several threads cannot make. No collector may be stopped meanwhile.
void pause_stopping_thread();
void resume_stopping_thread();
// Forgets the collectors in the child of a fork: they belong to the parent.
void forget_collectors();

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_COLLECTORS_H_
