// Selects the device of a model, without compiling against CUDA: torch's CUDA half is a library of
// its own, which is loaded on demand.
#ifndef XSP_ADAPTERS_TORCH_DEVICE_H_
#define XSP_ADAPTERS_TORCH_DEVICE_H_

#include <c10/core/Device.h>

#include <optional>
#include <string>

namespace xsp::torch_adapter {

// Returns the file that torch was loaded from.
const std::string& library_path();
// Loads the library `name` from the folder of torch's. Returns why it failed; empty on success.
std::string load_beside(const char* name);
// Loads a library that registers operators with torch, "/usr/lib/libtorchvision.so". Returns why it
// failed; empty on success.
std::string load_operators(const std::string& path);
// Returns the number of GPUs that torch can use here; loads its CUDA half. If it is 0 and `why` is
// not NULL, *why receives the reason.
int gpu_count(std::string* why);
// Returns the device that `text` names: "cpu", "cuda", "cuda:1". Otherwise `why` receives the error
// and its remedy.
std::optional<c10::Device> find_device(const std::string& text, std::string* why);
// Waits until the device has finished its work.
void wait_for(c10::Device device);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_DEVICE_H_
