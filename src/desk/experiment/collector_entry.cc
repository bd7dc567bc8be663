#include "desk/experiment/collector_entry.h"

#include <dlfcn.h>

namespace xsp::experiment {

const xsp_collector* collector_entry(const std::filesystem::path& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  const auto* entry = static_cast<const xsp_collector*>(::dlsym(handle, XSP_COLLECTOR_SYMBOL));
  const bool is_fine =
      entry != nullptr && entry->abi == XSP_PLUGIN_ABI && XSP_HAS(xsp_collector, entry, stop);
  return is_fine ? entry : nullptr;
}

bool is_preloaded(const xsp_collector* entry) {
  return entry != nullptr && XSP_HAS(xsp_collector, entry, is_preloaded) &&
         entry->is_preloaded != 0;
}

}  // namespace xsp::experiment
