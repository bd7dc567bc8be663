// OpenModel: the worker's model, as the servers of requests see it.
#ifndef XSP_PROCESS_LOAD_OPEN_MODEL_H_
#define XSP_PROCESS_LOAD_OPEN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "process/worker/inputs.h"
#include "shared/base/result.h"
#include "xsp/plugin.h"

namespace xsp::process {

class OpenModel {
 public:
  virtual ~OpenModel() = default;
  virtual Status set(const std::vector<Tensor>& inputs) = 0;
  // Runs it once. `request` is the first request of the batch; -1: it is a warm-up.
  virtual Status run(size_t batch, int64_t request) = 0;
  // Returns the outputs of the last run.
  virtual Result<std::vector<Tensor>> results() = 0;
  // The next three are of a language model that holds the keys and values of its tokens itself; see
  // xsp_adapter.keep_tokens.
  virtual bool keeps_tokens() const { return false; }
  virtual Status keep_tokens(size_t, size_t) { return failed("the model keeps no tokens"); }
  virtual size_t kept_bytes() { return 0; }
  // Says which outputs are inputs of the next run; see xsp_adapter.feed_back. False: the model does
  // not take them back, so the caller copies them, if there are any.
  virtual Result<bool> feed_back(const std::vector<xsp_fed_back>&) { return false; }
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_OPEN_MODEL_H_
