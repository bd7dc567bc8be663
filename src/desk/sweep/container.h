// Container: runs a task in an image, by the engine that the machine has. xsp is mounted into it,
// and never built in, so any image with a C library as new as xsp's will do.
#ifndef XSP_DESK_SWEEP_CONTAINER_H_
#define XSP_DESK_SWEEP_CONTAINER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::sweep {

struct InContainer {
  std::string image;
  std::string device;                          // of the task: a GPU is passed on
  std::filesystem::path cache;                 // of models and frameworks: it may be changed
  std::vector<std::filesystem::path> read;     // folders that are seen in it, at their own paths
  std::vector<std::filesystem::path> written;  // likewise, and may be changed
};

// Returns the words that run `words` in the image. The machine's facts have the image then. Fails
// with kNotAvailable if no engine is in PATH. If this process is in the image already, as a pod of
// Kubernetes is, returns `words`.
Result<std::vector<std::string>> in_container(const InContainer& container,
                                              std::vector<std::string> words);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_CONTAINER_H_
