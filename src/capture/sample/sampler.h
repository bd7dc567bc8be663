// The sampler: a thread that looks, many times a second, at where the program's threads are, and
// writes it to the trace.
//
// It harms nobody: no signal is sent, no lock of the program's or of its interpreter is taken, no
// thread is stopped. What is read is read as foreign memory. It measures its own processor time,
// and looks less often where a look costs more than its share allows.
#ifndef XSP_CAPTURE_SAMPLE_SAMPLER_H_
#define XSP_CAPTURE_SAMPLE_SAMPLER_H_

#include <stdint.h>

namespace xsp::capture {

// From now on sampling may begin, so many times a second; 0: it may not. On a thread of the
// program, as the search for an interpreter takes the loader's lock.
void prepare_sampling(uint32_t rate_hz);
// Begins to look, if that was prepared; and writes what was seen. On the drainer's thread, with
// every pass.
void keep_sampling();
// From one to the other the process has no thread of the sampler, and nothing of it begins or ends.
void pause_sampling();
void resume_sampling();
// Looks no more; what was seen is written, and what could not be seen becomes a fact of the site.
// The recording must not have ended yet, and the calling thread holds no lock of its.
void end_sampling(uint32_t site);
// In the child of a fork, where there is no such thread.
void forget_sampling();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_SAMPLER_H_
