// make_server(): chooses what answers a load's requests.
#ifndef XSP_PROCESS_LOAD_MAKE_SERVER_H_
#define XSP_PROCESS_LOAD_MAKE_SERVER_H_

#include <memory>
#include <optional>
#include <vector>

#include "process/load/open_model.h"
#include "process/load/pipeline_server.h"
#include "process/load/serve.h"
#include "process/load/settings.h"
#include "process/worker/inputs.h"
#include "process/worker/options.h"
#include "shared/base/result.h"

namespace xsp::process {

// Returns a server that generates tokens if the load has lengths, that runs the pipelines if it has
// items, and whose inputs are made up otherwise. It holds references to all but the settings.
Result<std::unique_ptr<Server>> make_server(OpenModel& model, const LoadSettings& settings,
                                            const std::vector<TensorSpec>& inputs,
                                            const std::vector<TensorSpec>& outputs,
                                            const WorkerOptions& options,
                                            const std::optional<ModelPipelines>& pipelines);

// Returns the settings of one of the instances: each writes its outputs to a file of its own.
LoadSettings settings_of_instance(LoadSettings settings, size_t instance);
// Appends the outputs of the further instances to those of the first one.
Status join_outputs(const LoadSettings& settings);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_MAKE_SERVER_H_
