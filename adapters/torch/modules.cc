#include "adapters/torch/modules.h"

#include <utility>

namespace xsp::torch_adapter {

void Modules::add(const std::string& name, Modules member) {
  members_.emplace(name, std::move(member));
}

const Modules* Modules::find(const std::string& name, std::string* path) const {
  if (const auto member = members_.find(name); member != members_.end()) {
    *path += (path->empty() ? "" : "/") + name;
    return &member->second;
  }
  const Modules* found = nullptr;
  std::string found_path;
  for (const auto& [list_name, list] : members_) {
    if (!list.is_list_) continue;
    std::string longer = *path + (path->empty() ? "" : "/") + list_name;
    const Modules* one = list.find(name, &longer);
    if (one == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = one;
    found_path = std::move(longer);
  }
  if (found != nullptr) *path = std::move(found_path);
  return found;
}

std::string Modules::path(const std::vector<std::string>& called) const {
  std::string path;
  const Modules* at = this;
  for (const std::string& name : called) {
    at = at == nullptr ? nullptr : at->find(name, &path);
    if (at == nullptr) path += (path.empty() ? "" : "/") + name;
  }
  return path;
}

}  // namespace xsp::torch_adapter
