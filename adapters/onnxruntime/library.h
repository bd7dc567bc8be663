// libonnxruntime, loaded at run time, and its one environment.
//
// Looked for, first found wins: the file or the folder that $XSP_ONNXRUNTIME names; beside
// libxsp.so; where the dynamic linker looks; in the Python environment that is active.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_
#define XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_

#include <onnxruntime_c_api.h>

#include <string>
#include <vector>

namespace xsp::ort {

struct Library {
  const OrtApi* api = nullptr;  // null: absent, and `absent` says why
  OrtEnv* env = nullptr;
  std::string version;                 // "1.31.1"
  std::string path;                    // of the file
  std::vector<std::string> providers;  // that it was built with
  std::string devices;                 // "cpu,cuda"
  std::string absent;                  // `what: why: what to do`
};

// Loads the library at the first call; it stays loaded.
const Library& library();

// What a call that failed said, on one line.
struct Problem {
  OrtErrorCode code = ORT_OK;
  std::string text;
  explicit operator bool() const { return code != ORT_OK; }
};
// Takes the status, which may be null: a success.
Problem take(const OrtApi* api, OrtStatus* status);
Problem take(OrtStatus* status);
// What the runtime logged last as an error, on one line; forgotten by this call.
std::string take_logged_error();

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_LIBRARY_H_
