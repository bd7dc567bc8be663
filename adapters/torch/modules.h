// The modules of a TorchScript model, by name, as its file has them. The interpreter tells which
// module called which; a list of modules (ModuleList, ModuleDict), which is called by nobody, is
// missing in that: "encoder", "3" is "encoder/layer/3" here.
#ifndef XSP_ADAPTERS_TORCH_MODULES_H_
#define XSP_ADAPTERS_TORCH_MODULES_H_

#include <map>
#include <string>
#include <vector>

namespace xsp::torch_adapter {

class Modules {
 public:
  // A list is called by nobody.
  explicit Modules(bool is_list = false) : is_list_(is_list) {}
  void add(const std::string& name, Modules member);

  // The names from the model to a module, joined by '/', of those that called each other. A name
  // that is not there, or in several lists, stays as it is, and so do those behind it.
  std::string path(const std::vector<std::string>& called) const;

 private:
  // The lists on the way to the member `name`, and it; nullptr: none has it, or several have.
  const Modules* find(const std::string& name, std::string* path) const;

  bool is_list_;
  std::map<std::string, Modules> members_;
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_MODULES_H_
