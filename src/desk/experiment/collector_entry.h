// Reads a collector's description of itself without a process of its own.
#ifndef XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_
#define XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_

#include <filesystem>

#include "xsp/plugin.h"

namespace xsp::experiment {

// Returns the description, or null if the library is not a collector of this version. The library
// stays loaded, and none of the collector's functions is called.
const xsp_collector* collector_entry(const std::filesystem::path& library);

// Returns whether a process that the collector watches must start with it in LD_PRELOAD.
bool is_preloaded(const xsp_collector* entry);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_
