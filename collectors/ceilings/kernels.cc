#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {

std::string ptx_head(const char* version, const std::string& target) {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n";
}

std::string registers(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "%" : ",%") + name + std::to_string(i);
  return text + "}";
}

}  // namespace xsp::ceilings
