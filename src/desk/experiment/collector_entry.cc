#include "desk/experiment/collector_entry.h"

#include <dlfcn.h>

namespace xsp::experiment {

const xsp_collector* collector_entry(const std::filesystem::path& path) {
  void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto* entry = static_cast<const xsp_collector*>(::dlsym(library, XSP_COLLECTOR_SYMBOL));
  const bool is_fine =
      entry != nullptr && entry->abi == XSP_PLUGIN_ABI && XSP_HAS(xsp_collector, entry, stop);
  return is_fine ? entry : nullptr;
}

bool must_be_preloaded(const std::filesystem::path& collector) {
  const xsp_collector* entry = collector_entry(collector);
  return entry != nullptr && XSP_HAS(xsp_collector, entry, preloaded) && entry->preloaded != 0;
}

}  // namespace xsp::experiment
