// A small part of ONNX Runtime's C interface, for tests: opens a model, runs it, and returns the
// results.
#ifndef XSP_TESTS_MODELS_RUNTIME_H_
#define XSP_TESTS_MODELS_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::formats {

struct RuntimeTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> floats;  // one of the two holds the values
  std::vector<int64_t> integers;
};

class Session {
 public:
  // Writes the runtime's graph of the model to `optimised_path`.
  static Result<Session> open(const std::string& path, const std::string& optimised_path);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  Result<std::vector<RuntimeTensor>> run(const std::vector<RuntimeTensor>& inputs,
                                         const std::vector<std::string>& outputs);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xsp::formats

#endif  // XSP_TESTS_MODELS_RUNTIME_H_
