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

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_RUN_FOLDER_H_
