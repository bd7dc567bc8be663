// The span that stands for this process. These functions are called by the code that sees the
// process's end coming (ends.cc).
#ifndef XSP_CAPTURE_ATTACH_ATTACH_H_
#define XSP_CAPTURE_ATTACH_ATTACH_H_

namespace xsp::capture {

// Called when the process ends or becomes another program: ends its span and writes everything that
// it recorded. It may be called again; in a child of vfork it does nothing.
void end_process(bool is_exec);
// Called on its own thread when the command has ended but this process goes on: writes everything
// that was recorded so far, leaves the process's span open, and stops recording.
void leave_run();
// Returns whether this process is being recorded.
bool is_recording();
// Called when the process begins to use CUDA.
void begin_cuda();
// Called when the process begins to use OpenCL.
void begin_opencl();
// Between these two calls the process has no thread of xsp, because the kernel refuses some system
// calls to a process with several threads. Returns false if this process is not recorded: it has no
// such threads.
bool pause_threads();
void resume_threads();
// Called before the process forbids itself something that a recording needs: ends the recording.
// Returns false if there is no recording. If the call then succeeds, has_forbidden_itself()
// follows, otherwise exec_failed().
bool forbids_itself(const char* what);
void has_forbidden_itself();
// Called on the drainer's thread when the program's last thread has ended: ends the threads of xsp.
void on_last_thread();
// Called when exec failed: the recording continues with a new span of the process.
void exec_failed();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_ATTACH_H_
