// The modules of a TorchScript model, by name, as in its file. The interpreter reports which module
// called which. A list of modules (ModuleList, ModuleDict) is never called, and so is missing
// there: "encoder", "3" is "encoder/layer/3" here.
//
// The path of modules comes from the interpreter's own call stack (currentModuleHierarchy), which
// torch keeps through inlining, fusion and freezing. Refused: marks that a pass puts into the
// graph, which change the program that is measured.
#ifndef XSP_ADAPTERS_TORCH_MODULES_H_
#define XSP_ADAPTERS_TORCH_MODULES_H_

#include <map>
#include <string>
#include <vector>

namespace xsp::torch_adapter {

class Modules {
 public:
  // A list is never called.
  explicit Modules(bool is_list = false) : is_list_(is_list) {}
  void add(const std::string& name, Modules member);

  // Returns the names from the model to a module, joined by '/', of those that called each other. A
  // name that does not exist, or is in several lists, stays as it is, and so do the names behind
  // it.
  std::string path(const std::vector<std::string>& called) const;

 private:
  // Returns the member `name`, and appends the lists on the way to it and its name to *path.
  // Returns nullptr if there is none, or more than one.
  const Modules* find(const std::string& name, std::string* path) const;

  bool is_list_;
  std::map<std::string, Modules> members_;
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_MODULES_H_
