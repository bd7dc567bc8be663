// The models that xsp builds itself: true topologies with seeded random weights. They compute
// nothing sensible and cost what the real ones cost, and no download is needed.
#ifndef XSP_MODELS_ZOO_H_
#define XSP_MODELS_ZOO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/onnx/writer.h"

namespace xsp::models {

inline constexpr uint64_t kDefaultSeed = 1;
// Part of the name of cached files: to be raised by whatever changes a byte of any of them.
inline constexpr int kBuilderVersion = 1;

struct ModelDescription {
  std::string name;  // as `xsp profile` takes it
  std::string title;
  std::string task;
  std::string topology;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  // Learned numbers; and with them all other floats of the file that are not learned: running
  // statistics of batch normalisations.
  int64_t parameters = 0;
  int64_t stored_floats = 0;
  // At batch 1, dynamic dimensions at their defaults. A multiply-accumulate is one MAC and two
  // flops; flops count elementwise arithmetic too, but no special functions.
  int64_t macs = 0;
  int64_t flops = 0;
  uint64_t file_bytes = 0;
  // The literature's figures; 0 where there is none for this very step.
  int64_t literature_parameters = 0;
  double literature_gmacs = 0;
  std::string literature;
};

// Ordered by name. Made at the first call, from the graphs alone; may be called by any thread.
const std::vector<ModelDescription>& all_models();

// nullptr if there is no such model.
const ModelDescription* find_model(const std::string& name);

// What a model can be written as, with the same weights.
struct ModelFormat {
  const char* name;    // as `xsp models build --format` takes it
  const char* ending;  // of the file's name
  Status (*write)(const Graph& graph, const WeightSource& weights, const std::string& path,
                  const WriteOptions& options);
};
// The first is the default.
const std::vector<ModelFormat>& model_formats();

// Writes the model's file, or files. kUsage for an unknown name, with what may have been meant;
// kFailed for a model that the format cannot say.
Status build_model(const std::string& name, const std::string& path, uint64_t seed,
                   const WriteOptions& options,
                   const ModelFormat& format = model_formats().front());

// The path of the model's file in the user's cache, built there if it is absent:
// ${XDG_CACHE_HOME:-~/.cache}/xsp/models/NAME-SEED-VERSION.onnx. Several processes may do so at
// once.
Result<std::string> cached_model(const std::string& name,
                                 const std::function<bool(uint64_t, uint64_t)>& progress = nullptr);

}  // namespace xsp::models

#endif  // XSP_MODELS_ZOO_H_
