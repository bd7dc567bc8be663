// Where a model runs, without compiling against CUDA: torch's CUDA half is a library of its own,
// loaded when asked for.
#ifndef XSP_ADAPTERS_TORCH_DEVICE_H_
#define XSP_ADAPTERS_TORCH_DEVICE_H_

#include <c10/core/Device.h>

#include <optional>
#include <string>

namespace xsp::torch_adapter {

// The file that torch was loaded from.
const std::string& library_path();
// Loads the library `name` from beside torch's. Why it cannot be; empty: it is loaded.
std::string load_beside(const char* name);
// Loads a library that registers operators with torch, "/usr/lib/libtorchvision.so". Why it cannot
// be; empty: it is loaded.
std::string load_operators(const std::string& path);
// GPUs that torch can use here; loads its CUDA half. 0: `why` says why, if it is not NULL.
int gpu_count(std::string* why);
// The device that `text` names: "cpu", "cuda", "cuda:1"; else `why` says what is wrong and what to
// do.
std::optional<c10::Device> find_device(const std::string& text, std::string* why);
// Returns when what was put on the device is done.
void wait_for(c10::Device device);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_DEVICE_H_
