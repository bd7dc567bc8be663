// describe(): turns a manifest's steps into the worker's pipelines.
#ifndef XSP_DESK_PREDICT_DESCRIBE_H_
#define XSP_DESK_PREDICT_DESCRIBE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "desk/manifest/manifest.h"
#include "pipelines/shared/pipeline.h"
#include "shared/base/result.h"

namespace xsp::predict {

struct Described {
  pipelines::Description description;
  std::vector<size_t> outputs;  // for each described output, its number in the manifest
  // For each described output, what its steps give; Kind::kNothing: the manifest does not tell.
  std::vector<pipelines::Type> answers;
};

// Fails if the steps do not fit together, or do not give what the manifest says of the model; the
// worker checks them again, against the model itself. Outputs without steps are left out. The
// manifest's files have been resolved.
Result<Described> describe(const manifest::Manifest& manifest);

// Returns every fault for which describe() would fail, and those that the worker would find in a
// step by itself; none if no tensor has steps, because such a manifest is for xsp profile. A step
// of which a file is not here is known by its name alone.
std::vector<Error> step_faults(const manifest::Manifest& manifest);

// Returns the type of elements that has this name; 0: none has.
uint32_t dtype_of(const std::string& name);
// Returns whether a dimension is that of the batch.
bool is_batch(const std::string& dimension);

}  // namespace xsp::predict

#endif  // XSP_DESK_PREDICT_DESCRIBE_H_
