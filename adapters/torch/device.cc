#include "adapters/torch/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <charconv>

namespace xsp::torch_adapter {
namespace {

constexpr auto kCuda = c10::DeviceType::CUDA;

// Returns why CUDA cannot be used; empty if it can.
std::string load_cuda() {
  if (c10::impl::hasDeviceGuardImpl(kCuda)) return "";
  const std::string why = load_beside("libtorch_cuda.so");
  if (!why.empty()) return "this torch has no CUDA (" + why + ")";
  return c10::impl::hasDeviceGuardImpl(kCuda) ? "" : "libtorch_cuda.so does not offer CUDA";
}

}  // namespace

const std::string& library_path() {
  static const std::string path = [] {
    Dl_info info{};
    const auto symbol = reinterpret_cast<const void*>(&torch::jit::currentModuleHierarchy);
    return std::string(dladdr(symbol, &info) != 0 ? info.dli_fname : "");
  }();
  return path;
}

std::string load_beside(const char* name) {
  const std::string& torch = library_path();
  const std::string path = torch.substr(0, torch.rfind('/') + 1) + name;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr ? "" : dlerror();
}

std::string load_operators(const std::string& path) {
  // Such a library refers to libtorch.so by name, and one of CUDA to torch's CUDA half; both names
  // are resolved if they are loaded already.
  (void)load_beside("libtorch.so");
  (void)gpu_count(nullptr);
  return dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr ? "" : dlerror();
}

int gpu_count(std::string* why) {
  static const std::string absent = load_cuda();
  const int count = absent.empty() ? c10::impl::getDeviceGuardImpl(kCuda)->deviceCount() : 0;
  if (count == 0 && why != nullptr) {
    *why = absent.empty() ? "torch finds no GPU, or no driver, here" : absent;
  }
  return count;
}

std::optional<c10::Device> find_device(const std::string& text, std::string* why) {
  if (text == "cpu") return c10::Device(c10::DeviceType::CPU);
  const std::string what = "device '" + text + "': ";
  int index = 0;
  bool is_cuda = text == "cuda";
  if (text.rfind("cuda:", 0) == 0) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, index);
    is_cuda = error == std::errc() && stop == end && index >= 0;
  }
  if (!is_cuda) {
    *why = what + "torch runs models on cpu, cuda or cuda:N: choose one with --device";
    return std::nullopt;
  }
  std::string absent;
  const int count = gpu_count(&absent);
  if (index >= count) {
    if (absent.empty()) absent = "torch finds " + std::to_string(count) + " GPUs here";
    *why = what + absent + ": use --device " + (count == 0 ? "cpu" : "cuda:0");
    return std::nullopt;
  }
  return c10::Device(kCuda, static_cast<c10::DeviceIndex>(index));
}

void wait_for(c10::Device device) {
  if (!device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

}  // namespace xsp::torch_adapter
