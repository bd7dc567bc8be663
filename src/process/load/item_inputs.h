// The inputs that a pipeline makes of items, to be given to another model, too.
#ifndef XSP_PROCESS_LOAD_ITEM_INPUTS_H_
#define XSP_PROCESS_LOAD_ITEM_INPUTS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "process/load/open_model.h"
#include "process/load/pipeline_server.h"
#include "shared/base/result.h"

namespace xsp::process {

// Makes the inputs of the items in the file's lines, which are one batch, and writes each as
// FOLDER/SET/NUMBER_NAME.npy. Returns the files' names within the folder, the sets one after the
// other, each in the model's order. If the items have windows, there is a set for each window, and
// the model runs, because a window's state is an output of the window before it.
Result<std::vector<std::string>> write_inputs_of_items(OpenModel& model,
                                                       const ModelPipelines& pipelines,
                                                       const std::string& items,
                                                       const std::filesystem::path& folder);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_ITEM_INPUTS_H_
