// What `xsp run` and the library that it puts into processes agree on.
#ifndef XSP_CAPTURE_ATTACH_RUN_FOLDER_H_
#define XSP_CAPTURE_ATTACH_RUN_FOLDER_H_

namespace xsp::capture {

// The environment variable that names the folder to which every process adds its trace,
// START_NS-PID.xtrace; a child of a fork that calls no exec, START_NS-PID.ITS_PID.xtrace.
inline constexpr const char* kRunFolderVariable = "XSP_RUN";
// The type of the spans that stand for a process, and their attribute: the id of its parent.
inline constexpr const char* kProcessType = "process";
inline constexpr const char* kParentProcessKey = "parent_process";

// The collectors to load, KIND=PATH, separated by ':'. KIND is what they watch: "cuda", "opencl",
// or "host".
inline constexpr const char* kCollectorsVariable = "XSP_COLLECTORS";
inline constexpr const char* kHostKind = "host";
inline constexpr const char* kCudaKind = "cuda";
inline constexpr const char* kOpenclKind = "opencl";
// The library that $CUDA_INJECTION64_PATH named before ours was put there: it is called first.
inline constexpr const char* kOtherInjectionVariable = "XSP_OTHER_CUDA_INJECTION";
// Attributes of a process's site: that it used CUDA ("yes"), and what became of a collector: its
// name is appended to the key, the value is kRecorded or why it did not record, in one line.
inline constexpr const char* kUsesCudaKey = "uses_cuda";
inline constexpr const char* kCollectorKey = "collector.";
inline constexpr const char* kCollectorNoteKey = "collector_note.";
// Why what a process did later is not in its trace.
inline constexpr const char* kRecordedUntilKey = "recorded_until";
inline constexpr const char* kRecorded = "recorded";

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_RUN_FOLDER_H_
