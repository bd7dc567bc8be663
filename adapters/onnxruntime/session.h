// Opens a session of ONNX Runtime with the worker's options.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_SESSION_H_
#define XSP_ADAPTERS_ONNXRUNTIME_SESSION_H_

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::ort {

// Releases an object by the function of the C interface for its type.
template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

struct Session {
  Handle<OrtSession> session{nullptr, nullptr};
  std::string provider;          // the requested one, "CPUExecutionProvider"
  std::string tf32;              // see tf32_of_cuda; empty: not known
  int device = -1;               // the GPU that holds inputs and outputs; -1: the host does
  bool records = false;          // its profiler is on, from the session's creation
  int64_t profile_start_ns = 0;  // UNIX time of the profile's begin
  std::string optimized_model;   // path of the executed graph; empty if it was not written
};

// On failure, reports the reason through the host. All created files have names that begin with
// `prefix`.
xsp_status open_session(const xsp_host* host, const xsp_open_options& options,
                        const std::string& prefix, Session* session);

// Returns whether CUDA's provider may compute 32-bit products in TF32, "true" or "false", from its
// options as the library writes them, "device_id=0;use_tf32=1"; empty if they do not tell.
std::string tf32_of_cuda(const std::string& provider_options);

// Describes an input or output of a session.
struct Signature {
  std::string name;
  uint32_t dtype = 0;  // xsp_dtype; 0: not a tensor, or of a type that xsp does not know
  std::vector<int64_t> dimensions;
  std::vector<std::string> symbols;
  std::vector<const char*> symbol_pointers;  // point into `symbols`
};
xsp_status read_signatures(const xsp_host* host, OrtSession* session, bool inputs,
                           std::vector<Signature>* signatures);

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_SESSION_H_
