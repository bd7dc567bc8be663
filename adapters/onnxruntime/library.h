// libonnxruntime, loaded at run time, and its one environment.
//
// The library is searched for in this order: the file or the folder that $XSP_ONNXRUNTIME names;
// the folder of libxsp.so; the paths of the dynamic linker; the active Python environment.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_
#define XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_

#include <onnxruntime_c_api.h>

#include <string>
#include <vector>

namespace xsp::ort {

struct Library {
  const OrtApi* api = nullptr;  // null if absent; then `absent` has the reason
  OrtEnv* env = nullptr;
  std::string version;                 // "1.31.1"
  std::string path;                    // path of the file
  std::vector<std::string> providers;  // execution providers that it was built with
  std::string devices;                 // "cpu,cuda"
  std::string absent;                  // the error in the form `what: why: remedy`
};

// Loads the library at the first call; it stays loaded.
const Library& library();

// Describes the error of a failed call, on one line.
struct Problem {
  OrtErrorCode code = ORT_OK;
  std::string text;
  explicit operator bool() const { return code != ORT_OK; }
};
// Takes the status; null means success.
Problem take(const OrtApi* api, OrtStatus* status);
Problem take(OrtStatus* status);
// Returns the last error that the runtime logged, on one line, and forgets it.
std::string take_logged_error();

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_
