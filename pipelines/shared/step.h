// Steps turn what a request gives into a model's input, and a model's output into an answer.
//
// Each pipelines/NAME.cc defines NAME_step(); the build collects them, so a new step is a new file.
// A step is made of its parameters in a manifest, and then says what it gives for what it is given:
// a pipeline whose steps do not fit is refused before anything runs.
#ifndef XSP_PIPELINES_SHARED_STEP_H_
#define XSP_PIPELINES_SHARED_STEP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pipelines/shared/value.h"
#include "shared/base/result.h"

namespace xsp::pipelines {

// The parameters of a step, read by name. The first fault is kept, and told by check().
class Parameters {
 public:
  explicit Parameters(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  // Each returns the parameter, or `otherwise` if it is not given. Without `otherwise` it is
  // required.
  int64_t integer(const std::string& name, int64_t least, int64_t most,
                  std::optional<int64_t> otherwise = {});
  double number(const std::string& name, std::optional<double> otherwise = {});
  std::vector<double> numbers(const std::string& name, std::vector<double> otherwise);
  bool truth(const std::string& name, bool otherwise);
  // A text that is not empty; it is required.
  std::string text(const std::string& name);
  // One of the words.
  std::string word(const std::string& name, const std::vector<std::string>& words,
                   std::optional<std::string> otherwise = {});
  // Says that a parameter is wrong: "begin '-1': not ...: write ...".
  void refuse(const std::string& name, const std::string& why);
  // Fails if a parameter is wrong, is missing, or was never asked for.
  Status check() const;

 private:
  const std::string* find(const std::string& name, bool is_required);

  std::map<std::string, std::string> values_;
  std::set<std::string> known_;
  std::string fault_;
};

class Step {
 public:
  virtual ~Step() = default;
  // Returns the type of what it gives for a value of this type; called once, before any run. The
  // error's text says what it wants, and what to do: "an image: put decode before it".
  virtual Result<Type> accept(const Type& given) = 0;
  // The value's type fits the accepted one. The error says what is wrong with the value.
  virtual Result<Value> run(Value value) = 0;
};

struct StepKind {
  std::string name;     // that of its file
  std::string summary;  // one sentence
  std::string takes;    // its parameters, for people: "begin, end: bytes of ...; ..."
  std::unique_ptr<Step> (*make)(Parameters& parameters) = nullptr;
  std::string path{};      // the parameter that is a path, relative to the manifest's folder
  bool runs_code = false;  // of whoever wrote the manifest: no request over HTTP runs such a step
};

// Returns all kinds, ordered by name. The build generates this function.
std::vector<StepKind> all_steps();

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_STEP_H_
