#include "adapters/tensorrt/library.h"

#include <filesystem>
#include <mutex>
#include <utility>

#include "adapters/tensorrt/ranges.h"
#include "xsp/find_library.hpp"

namespace xsp::tensorrt {
namespace {

constexpr const char* kRemedy =
    ": xsp doctor --install tensorrt, or set XSP_TENSORRT to the folder of libnvinfer.so.10";
// The first of several errors says the most; a build that fails may log thousands.
constexpr size_t kErrorsBytesMax = 600;

// TensorRT keeps one logger for the whole process, and calls it on any thread.
class Log : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity > Severity::kERROR || text == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (errors_.size() > kErrorsBytesMax) return;
    if (!errors_.empty()) errors_ += "; ";
    errors_ += text;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(errors_, {});
  }

 private:
  std::mutex mutex_;
  std::string errors_;
};

Log& log() {
  // The log is never destroyed: TensorRT may write to it until the process ends.
  static Log& only = *new Log;
  return only;
}

using Create = void* (*)(void* logger, int32_t version);
using CreateParser = void* (*)(void* network, void* logger, int version);
using Version = int32_t (*)();
using InitPlugins = bool (*)(void* logger, const char* name_space);

// Holds the functions that the libraries export.
struct Exports {
  Create builder = nullptr;
  Create runtime = nullptr;
  CreateParser parser = nullptr;
  int32_t version = 0;  // of libnvinfer, which is also the one that its functions ask for
};
Exports exports;

template <typename Function>
Function symbol(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

// Loads a library from beside libnvinfer or, if that was found by its name alone, likewise.
void* load_beside(const std::string& nvinfer, const char* name) {
  const std::filesystem::path folder = std::filesystem::path(nvinfer).parent_path();
  std::error_code error;
  const std::filesystem::path beside = folder / name;
  const bool is_there = !folder.empty() && std::filesystem::exists(beside, error);
  return dlopen(is_there ? beside.c_str() : name, RTLD_NOW | RTLD_LOCAL);
}

void load_parser(const std::string& nvinfer, Library* library) {
  void* handle = load_beside(nvinfer, "libnvonnxparser.so.10");
  const std::string why = handle == nullptr ? one_line(dlerror()) : "";
  if (handle != nullptr) {
    exports.parser = symbol<CreateParser>(handle, "createNvOnnxParser_INTERNAL");
  }
  if (exports.parser == nullptr) {
    library->no_parser = "TensorRT's parser of ONNX files: " +
                         (why.empty() ? "libnvonnxparser.so.10 is no parser of version 10" : why) +
                         kRemedy;
    return;
  }
  library->create_parser = [](nvinfer1::INetworkDefinition* network) {
    return static_cast<nvonnxparser::IParser*>(
        exports.parser(network, &log(), static_cast<int>(NV_ONNX_PARSER_VERSION)));
  };
}

Library load() {
  Library library;
  offer_ranges();
  const std::string file = "libnvinfer.so.10";
  const FoundLibrary found =
      find_library({.variable = "XSP_TENSORRT",
                    .file = file,
                    .beside = "",
                    .in_cache = "tensorrt/org/bytedeco/tensorrt/linux-x86_64/" + file,
                    .linked = {file},
                    .in_packages = "tensorrt_libs/" + file},
                   RTLD_NOW);
  library.absent = "TensorRT: " + found.why + kRemedy;
  if (found.handle == nullptr) return library;
  const auto version = symbol<Version>(found.handle, "getInferLibVersion");
  exports.builder = symbol<Create>(found.handle, "createInferBuilder_INTERNAL");
  exports.runtime = symbol<Create>(found.handle, "createInferRuntime_INTERNAL");
  if (version == nullptr || exports.builder == nullptr || exports.runtime == nullptr) {
    library.absent = "TensorRT: " + found.path + " is none" + kRemedy;
    return library;
  }
  exports.version = version();
  const int32_t major = exports.version / 10000;
  library.version = std::to_string(major) + "." + std::to_string(exports.version / 100 % 100) +
                    "." + std::to_string(exports.version % 100);
  library.path = file_of(version);
  if (major != NV_TENSORRT_MAJOR) {
    library.absent = "TensorRT " + library.version + " at " + library.path +
                     ": the adapter is for TensorRT 10" + kRemedy;
    return library;
  }
  if (void* plugins = load_beside(library.path, "libnvinfer_plugin.so.10")) {
    const auto init = symbol<InitPlugins>(plugins, "initLibNvInferPlugins");
    if (init != nullptr) (void)init(&log(), "");
  }
  library.create_builder = [] {
    return static_cast<nvinfer1::IBuilder*>(exports.builder(&log(), exports.version));
  };
  library.create_runtime = [] {
    return static_cast<nvinfer1::IRuntime*>(exports.runtime(&log(), exports.version));
  };
  load_parser(library.path, &library);
  library.absent.clear();
  return library;
}

}  // namespace

const Library& library() {
  // The library is never destroyed: TensorRT's own threads may outlive any order of destruction.
  static const Library& loaded = *new Library(load());
  return loaded;
}

std::string take_errors() {
  std::string errors = one_line(log().take(), 400);
  return errors.empty() ? "TensorRT says not why" : errors;
}

}  // namespace xsp::tensorrt
