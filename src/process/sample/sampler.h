// The sampler: a thread that looks many times a second at the places of the program's threads, and
// writes them to the trace.
//
// It does not disturb the program: it sends no signal, takes no lock of the program or its
// interpreter, and stops no thread. It reads memory as foreign memory. It measures its own
// processor time, and looks less often if looks cost more than its share.
#ifndef XSP_PROCESS_SAMPLE_SAMPLER_H_
#define XSP_PROCESS_SAMPLE_SAMPLER_H_

#include <stdint.h>

namespace xsp::capture {

// Allows sampling from now on, at this rate; 0 forbids it. Called on a thread of the program,
// because the search for an interpreter takes the loader's lock.
void prepare_sampling(uint32_t rate_hz);
// Starts the sampler if it was prepared, and writes its samples. Called on the drainer's thread
// with every pass.
void keep_sampling();
// Between these two calls the process has no sampler thread, and the sampler neither begins nor
// ends.
void pause_sampling();
void resume_sampling();
// Stops looking, writes the samples, and notes on the site what could not be sampled. The recording
// must not have ended yet, and the calling thread holds none of its locks.
void end_sampling(uint32_t site);
// Forgets the sampler in the child of a fork, which has no sampler thread.
void forget_sampling();

}  // namespace xsp::capture

#endif  // XSP_PROCESS_SAMPLE_SAMPLER_H_
