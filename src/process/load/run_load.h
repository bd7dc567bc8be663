// run_load(): obeys the worker's command `load` (process/worker/protocol.h).
#ifndef XSP_PROCESS_LOAD_RUN_LOAD_H_
#define XSP_PROCESS_LOAD_RUN_LOAD_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "process/load/serve.h"
#include "process/load/settings.h"
#include "shared/base/result.h"

namespace xsp::process {

using SendFields = std::function<void(const std::vector<std::string>& fields)>;

// Reads a settings file. An error names the file.
Result<LoadSettings> read_load_settings(const std::string& path);

// Lets the servers answer the load, emits the requests' spans, writes the answers' file, and sends
// the progress. SIGINT ends it early; the batches that run then are answered.
Result<LoadReport> run_load(const LoadSettings& settings, std::span<Server* const> servers,
                            const SendFields& send);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_RUN_LOAD_H_
