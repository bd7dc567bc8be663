// The names that `xsp run` shares with the library that it loads into processes.
#ifndef XSP_PROCESS_WATCH_RUN_FOLDER_H_
#define XSP_PROCESS_WATCH_RUN_FOLDER_H_

namespace xsp::process {

// The environment variable that names the folder to which every process adds its trace,
// START_NS-PID.xtrace. A child of a fork that does not call exec adds START_NS-PID.ITS_PID.xtrace.
inline constexpr const char* kRunFolderVariable = "XSP_RUN";
// Spans that stand for a process have this type, and this attribute with the id of the parent
// process.
inline constexpr const char* kProcessType = "process";
inline constexpr const char* kParentProcessKey = "parent_process";

// The variable that lists the collectors to load, as KIND=PATH, separated by ':'. KIND is the thing
// that they watch: "cuda", "opencl", or "host".
inline constexpr const char* kCollectorsVariable = "XSP_COLLECTORS";
inline constexpr const char* kHostKind = "host";
inline constexpr const char* kCudaKind = "cuda";
inline constexpr const char* kOpenclKind = "opencl";
// Holds the library that $CUDA_INJECTION64_PATH named before xsp's was put there: it is called
// first.
inline constexpr const char* kOtherInjectionVariable = "XSP_OTHER_CUDA_INJECTION";
// A process's site has these attributes. kUsesCudaKey says that it used CUDA ("yes"). kCollectorKey
// plus a collector's name has the value kRecorded, or one line that says why it did not record.
inline constexpr const char* kUsesCudaKey = "uses_cuda";
inline constexpr const char* kCollectorKey = "collector.";
inline constexpr const char* kCollectorNoteKey = "collector_note.";
// The reason why the trace lacks the later part of a process.
inline constexpr const char* kRecordedUntilKey = "recorded_until";
inline constexpr const char* kRecorded = "recorded";

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_RUN_FOLDER_H_
