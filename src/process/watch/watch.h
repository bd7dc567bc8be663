// The span that stands for this process is handled here. The code that sees the process's end
// coming (ends.cc) calls these functions.
#ifndef XSP_PROCESS_WATCH_WATCH_H_
#define XSP_PROCESS_WATCH_WATCH_H_

namespace xsp::process {

// Ends the process's span and writes everything that it recorded, when the process ends or becomes
// another program. It may be called again; in a child of vfork it does nothing.
void end_process(bool is_exec);
// Writes everything that was recorded so far, leaves the process's span open, and stops recording.
// It runs on its own thread when the command has ended but this process goes on.
void leave_run();
// Returns whether this process is being recorded.
bool is_recording();
// Notes that the process begins to use CUDA.
void begin_cuda();
// Notes that the process begins to use OpenCL.
void begin_opencl();
// Between these two calls the process has no thread of xsp, because the kernel refuses some system
// calls to a process with several threads. Returns false if this process is not recorded: it has no
// such threads.
bool pause_threads();
void resume_threads();
// Ends the recording before the process forbids itself something that a recording needs. Returns
// false if there is no recording. If the call then succeeds, has_forbidden_itself() follows,
// otherwise exec_failed().
bool forbids_itself(const char* what);
void has_forbidden_itself();
// Ends the threads of xsp when the program's last thread has ended. Runs on the drainer's thread.
void on_last_thread();
// Continues the recording with a new span of the process after a failed exec.
void exec_failed();

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_WATCH_H_
