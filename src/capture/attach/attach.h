// The span that stands for this process, for those who see its end come (ends.cc).
#ifndef XSP_CAPTURE_ATTACH_ATTACH_H_
#define XSP_CAPTURE_ATTACH_ATTACH_H_

namespace xsp::capture {

// The process ends, or becomes another program: its span ends, and all that it recorded is written.
// May be called again, and from a child of vfork, where it does nothing.
void end_process(bool is_exec);
// The command has ended, and this process goes on: what it recorded so far is written, its own span
// stays open, and nothing more is recorded. For a thread of its own.
void leave_run();
// Whether this process is being recorded.
bool is_recording();
// The process uses CUDA from here on.
void begin_cuda();
// Likewise OpenCL.
void begin_opencl();
// It did not become another program: what follows is a span of its own.
void exec_failed();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_ATTACH_H_
