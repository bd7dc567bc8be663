// describe(): turns a manifest's steps into the worker's pipelines.
#ifndef XSP_DESK_PREDICT_DESCRIBE_H_
#define XSP_DESK_PREDICT_DESCRIBE_H_

#include <cstddef>
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

}  // namespace xsp::predict

#endif  // XSP_DESK_PREDICT_DESCRIBE_H_
