// The collectors of a process that `xsp run` watches: loaded when what they watch begins, stopped
// when the process ends.
//
// They are named by $XSP_COLLECTORS, as KIND=PATH, separated by ':'. Those of the kind `host` are
// started with the recording; those of a kind of device ("cuda"), when the process first uses one:
// a process that never does loads nothing. What became of each is a fact of the process's site.
//
// Thread rule: any thread, one call at a time; stop may be called from a signal's handler too.
#ifndef XSP_CAPTURE_ATTACH_COLLECTORS_H_
#define XSP_CAPTURE_ATTACH_COLLECTORS_H_

#include <stdint.h>

namespace xsp::capture {

// Loads and starts those of that kind which emit a level that may be recorded, now or later.
// `site`: the process's.
void start_collectors(const char* kind, uint32_t site);
// Those that run record these levels from now on, as far as they were started with them. Waits for
// nobody: a call of another thread that is under way sees to it.
void set_collector_levels(uint32_t levels);
// Bits of the levels that those which run were started with.
uint32_t collected_levels();
// Emits what is complete and ends those that run, on a thread of its own: the caller may have
// interrupted a thread that holds a lock, and does not wait for longer than there is progress.
void stop_collectors();
// The program takes for itself what they need, as `why` says: those of that kind end, if any runs,
// and none is started any more.
void yield_collectors(const char* kind, const char* why);
// The thread that stops them ends: nothing is left that it could stop.
void end_stopping_thread();
// It ends, if there is one, and is there again, for calls that a process of several threads cannot
// make. Nobody is to stop collectors meanwhile.
void pause_stopping_thread();
void resume_stopping_thread();
// In the child of a fork: they are the parent's.
void forget_collectors();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_COLLECTORS_H_
