// The models that xsp builds itself: real topologies with seeded random weights. Their results are
// meaningless, but they cost as much as the real models, and need no download.
#ifndef XSP_ZOO_SHARED_ZOO_H_
#define XSP_ZOO_SHARED_ZOO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formats/onnx/writer.h"
#include "shared/base/result.h"

namespace xsp::zoo {

inline constexpr uint64_t kDefaultSeed = 1;
// Part of the names of cached files: any change of their bytes must raise it.
inline constexpr int kBuilderVersion = 1;

struct ModelDescription {
  std::string name;  // the name for `xsp profile`
  std::string title;
  std::string task;
  std::string topology;
  std::vector<formats::ValueInfo> inputs;
  std::vector<formats::ValueInfo> outputs;
  // The number of learned numbers; and of all other floats of the file that are not learned:
  // running statistics of batch normalisations.
  int64_t parameters = 0;
  int64_t stored_floats = 0;
  // At batch 1, with dynamic dimensions at their defaults. A multiply-accumulate is one MAC and two
  // flops; flops include elementwise arithmetic, but no special functions.
  int64_t macs = 0;
  int64_t flops = 0;
  uint64_t file_bytes = 0;
  // The literature's figures; 0 if there is none for this exact step.
  int64_t literature_parameters = 0;
  double literature_gmacs = 0;
  std::string literature;
  std::string literature_note;  // says why the figures differ by more than rounding
};

// Returns the models ordered by name. The list is made at the first call, from the graphs alone;
// any thread may call this.
const std::vector<ModelDescription>& all_models();

// Returns nullptr if there is no such model.
const ModelDescription* find_model(const std::string& name);

// Returns kUsage for an unknown name, with the name that may have been meant.
Status check_name(const std::string& name);

// Describes a format in which a model can be written, with the same weights.
struct ModelFormat {
  const char* name;    // the name for `xsp models build --format`
  const char* ending;  // suffix of the file's name
  Status (*write)(const formats::Graph& graph, const formats::WeightSource& weights,
                  const std::string& path, const formats::WriteOptions& options);
  bool has_fixed_batch = false;  // a file is of one batch size
};
// The first is the default.
const std::vector<ModelFormat>& model_formats();

// Writes the model's file, or files. Returns kUsage for an unknown name, with the name that may
// have been meant, and kFailed for a model that the format cannot express.
Status build_model(const std::string& name, const std::string& path, uint64_t seed,
                   const formats::WriteOptions& options,
                   const ModelFormat& format = model_formats().front());

// Returns the path of the model's file in the user's cache, and builds it there if it is absent:
// ${XDG_CACHE_HOME:-~/.cache}/xsp/models/NAME-SEED-VERSION.onnx. Several processes may do so at
// once.
Result<std::string> cached_model(const std::string& name,
                                 const std::function<bool(uint64_t, uint64_t)>& progress = nullptr);

// Returns the path of the model in the user's cache, in the first format whose ending is one of
// these, and writes it there if it is absent:
// ${XDG_CACHE_HOME:-~/.cache}/xsp/models/NAME-SEED-VERSION-FORMAT/NAME.ENDING. A format whose batch
// is fixed gets this one, and then the folder's name ends with "-bBATCH", unless it is 1. Returns
// kNotAvailable if no format has one of the endings.
Result<std::string> cached_model_as(const std::string& name,
                                    const std::vector<std::string>& endings, int64_t batch = 1);

}  // namespace xsp::zoo

#endif  // XSP_ZOO_SHARED_ZOO_H_
