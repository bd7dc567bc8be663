#include "adapters/torch/program.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "adapters/torch/device.h"
#include "adapters/torch/reuse.h"
#include "adapters/torch/weights.h"
#include "xsp/plugin.hpp"

#define XSP_TORCH_VERSION (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR)
#if XSP_TORCH_VERSION >= 208
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#define XSP_HAS_PACKAGES 1
#else
#define XSP_HAS_PACKAGES 0
#endif

namespace xsp::torch_adapter {
namespace {

constexpr const char* kSignature = "signature";

// Collects the tensors in a value, also from tuples, lists and dictionaries.
void flatten(const c10::IValue& value, const std::string& name, Results* results) {
  if (value.isTensor()) {
    results->emplace_back(name, value.toTensor());
  } else if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i) {
      flatten(elements[i], name + "." + std::to_string(i), results);
    }
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    for (size_t i = 0; i < elements.size(); ++i) {
      flatten(elements[i], name + "." + std::to_string(i), results);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key =
          entry.key().isString() ? entry.key().toStringRef() : std::to_string(results->size());
      flatten(entry.value(), name.empty() ? key : name + "." + key, results);
    }
  }
}

c10::ScalarType scalar_type(const std::string& name) {
  return name == "float16"    ? c10::ScalarType::Half
         : name == "bfloat16" ? c10::ScalarType::BFloat16
                              : c10::ScalarType::Float;
}

torch::jit::Module read(const std::string& path, c10::Device device,
                        torch::jit::ExtraFilesMap* extra) {
  std::optional<HostMemoryReuse> reuse;
  if (!device.is_cpu()) reuse.emplace();
  return torch::jit::load(path, device, *extra);
}

Modules modules_of(const torch::jit::Module& module) {
  Modules modules(!module.find_method("forward").has_value());
  for (const auto& member : module.named_children()) {
    modules.add(member.name, modules_of(member.value));
  }
  return modules;
}

class Script : public Program {
 public:
  Script(const std::string& path, c10::Device device, const Options& options) {
    torch::jit::ExtraFilesMap extra{{kSignature, ""}};
    module_ = read(path, device, &extra);
    signature_text_ = extra[kSignature];
    modules_ = modules_of(module_);
    module_.eval();
    if (!options.dtype.empty()) convert_weights(&module_, scalar_type(options.dtype));
    if (options.channels_last) reorder_weights(&module_);
    if (options.optimize_for_inference) {
      module_ = torch::jit::optimize_for_inference(module_);
    } else if (options.freeze) {
      module_ = torch::jit::freeze(module_);
    }
  }
  std::vector<std::string> input_names() const override {
    std::vector<std::string> names;
    const auto& arguments = module_.get_method("forward").function().getSchema().arguments();
    for (size_t i = 1; i < arguments.size(); ++i) names.push_back(arguments[i].name());
    return names;
  }
  void run(const std::vector<at::Tensor>& inputs) override {
    result_ = module_.forward({inputs.begin(), inputs.end()});
  }
  Results results() const override {
    Results results;
    flatten(result_, result_.isTensor() ? "output" : "", &results);
    for (auto& [name, tensor] : results) {
      if (!name.empty() && name[0] == '.') name = "output" + name;
    }
    return results;
  }
  void release_results() override { result_ = {}; }

 private:
  torch::jit::Module module_;
  c10::IValue result_;
};

Opened refuse(xsp_status status, const std::string& why) { return {nullptr, why, status}; }

#if XSP_HAS_PACKAGES
class Package : public Program {
 public:
  Package(const std::string& path, const std::string& signature, c10::Device device)
      : loader_(path, "model", true, 1, device.index()) {
    signature_text_ = signature;
  }
  void run(const std::vector<at::Tensor>& inputs) override { results_ = loader_.run(inputs); }
  Results results() const override {
    Results results;
    for (size_t i = 0; i < results_.size(); ++i) {
      const std::string name = results_.size() == 1 ? "output" : "output." + std::to_string(i);
      results.emplace_back(name, results_[i]);
    }
    return results;
  }
  void release_results() override { results_.clear(); }
  bool is_package() const override { return true; }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
  std::vector<at::Tensor> results_;
};

// Returns the package's metadata; torch 2.9 has it only of an opened package.
template <typename Loader>
std::unordered_map<std::string, std::string> facts_of(const std::string& path) {
  if constexpr (requires { Loader::load_metadata_from_package(path, "model"); }) {
    return Loader::load_metadata_from_package(path, "model");
  } else {
    return Loader(path, "model", true).get_metadata();
  }
}

Opened open_package(const std::string& path, c10::Device device, const Options& options) {
  if (!options.dtype.empty() || options.freeze || options.optimize_for_inference ||
      options.channels_last || options.fuser.has_value()) {
    return refuse(XSP_FAILED,
                  "options dtype, freeze, fuser, optimize_for_inference, channels_last: " + path +
                      " is compiled already: choose them when exporting it");
  }
  // The package's own library refers to libtorch.so by name, which is resolved if it is loaded
  // already.
  (void)load_beside("libtorch.so");
  auto facts = facts_of<torch::inductor::AOTIModelPackageLoader>(path);
  const std::string made_for = facts["AOTI_DEVICE_KEY"];
  const std::string wanted = device.is_cuda() ? "cuda" : "cpu";
  if (!made_for.empty() && made_for != wanted) {
    return refuse(XSP_NOT_AVAILABLE, path + ": compiled for " + made_for + ", not for " + wanted +
                                         ": use --device " + made_for);
  }
  return {std::make_unique<Package>(path, facts[kSignature], device), "", XSP_OK};
}
#else
Opened open_package(const std::string& path, c10::Device, const Options&) {
  return refuse(XSP_NOT_AVAILABLE, path + ": packages need torch 2.8 or newer: this is torch " +
                                       TORCH_VERSION + ": build the adapter against a newer one");
}
#endif

// Returns whether the first two bytes are those of an archive, as in both formats.
bool is_archive(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[2] = {};
  file.read(start, sizeof start);
  return file && start[0] == 'P' && start[1] == 'K';
}

}  // namespace

Opened open_program(const std::string& path, c10::Device device, const Options& options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return refuse(XSP_BAD_MODEL, path + ": it is a folder: name a .pt or .pt2 file in it");
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return refuse(XSP_BAD_MODEL, path + ": there is no such file: give a .pt or .pt2 file");
  }
  if (!is_archive(path)) {
    return refuse(XSP_BAD_MODEL, path +
                                     ": neither TorchScript nor an AOTInductor package: "
                                     "tools/export_torch.py writes both");
  }
  if (path.size() > 4 && path.compare(path.size() - 4, 4, ".pt2") == 0) {
    return open_package(path, device, options);
  }
  return {std::make_unique<Script>(path, device, options), "", XSP_OK};
}

std::string missing_operator(const std::string& what) {
  // The texts of the reader of TorchScript, the dispatcher and AOTInductor's executor.
  for (const std::string_view says : {"Unknown builtin op: ", "Could not find schema for "}) {
    const size_t at = what.find(says);
    if (at == std::string::npos) continue;
    const size_t begin = at + says.size();
    const size_t end = what.find_first_of(". ,\n", begin);
    const std::string name = what.substr(begin, end - begin);
    if (name.find("::") != std::string::npos) return valid_utf8(name);
  }
  return "";
}

std::string foreign_archive(const std::string& what) {
  const std::string remedy = " and example inputs, and profile it: xsp profile FILE.py:FUNCTION";
  const auto says = [&what](const char* text) { return what.find(text) != std::string::npos; };
  if (says("constants.pkl")) {
    return "a module or weights that torch.save pickled, which only Python reads: write a function "
           "that returns the module" +
           remedy;
  }
  // The texts of torch up to 2.11, and of 2.15.
  if (says("generated cpp file or so file") || says("Failed to find wrapper metadata")) {
    return "a program of torch.export, and no package of AOTInductor: write a function that "
           "returns torch.export.load(FILE).module()" +
           remedy;
  }
  return "";
}

std::string one_line(const std::string& what) {
  // The interpreter's text begins with a trace, and ends with the cause.
  const size_t cause = what.rfind("RuntimeError: ");
  size_t begin = cause == std::string::npos ? 0 : cause + std::string("RuntimeError: ").size();
  while (begin < what.size() && what[begin] == '\n') ++begin;
  std::string line = valid_utf8(what.substr(begin, what.find('\n', begin) - begin));
  constexpr size_t kShown = 400;
  if (line.size() > kShown) line = line.substr(0, kShown) + "...";
  return line;
}

}  // namespace xsp::torch_adapter
