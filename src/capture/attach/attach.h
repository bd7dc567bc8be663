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
// From one to the other the process has no thread of ours, as some calls of the system are refused
// to a process of several. False: it is none that is recorded, and has none.
bool pause_threads();
void resume_threads();
// The process is about to forbid itself what a recording needs: that ends before. False: there is
// none. Once it is forbidden, has_forbidden_itself() follows, else exec_failed().
bool forbids_itself(const char* what);
void has_forbidden_itself();
// The program's last thread has ended: those of ours end, too. On the drainer's thread.
void on_last_thread();
// It did not become another program: what follows is a span of its own.
void exec_failed();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_ATTACH_H_
