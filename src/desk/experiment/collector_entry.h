// Collector entry: what a collector's library says of itself, read without a process of its own.
#ifndef XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_
#define XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_

#include <filesystem>

#include "xsp/plugin.h"

namespace xsp::experiment {

// Returns the collector's own description, or null if the library is not a collector of this
// version. Calls none of its functions. The library stays loaded.
const xsp_collector* collector_entry(const std::filesystem::path& path);
// Returns true if the collector must be loaded before the libraries that a program uses.
bool must_be_preloaded(const std::filesystem::path& collector);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_COLLECTOR_ENTRY_H_
