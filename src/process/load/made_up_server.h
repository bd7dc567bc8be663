// MadeUpServer: answers requests with inputs that are made up, one set of them for each batch size.
#ifndef XSP_PROCESS_LOAD_MADE_UP_SERVER_H_
#define XSP_PROCESS_LOAD_MADE_UP_SERVER_H_

#include <map>
#include <span>
#include <vector>

#include "process/load/open_model.h"
#include "process/load/serve.h"
#include "process/worker/options.h"

namespace xsp::process {

class MadeUpServer : public Server {
 public:
  MadeUpServer(OpenModel& model, const std::vector<TensorSpec>& inputs,
               const std::vector<TensorSpec>& outputs, const WorkerOptions& options)
      : model_(model), inputs_(inputs), outputs_(outputs), options_(options) {}
  Status prepare(std::span<const LoadRequest> batch) override;
  Status run(std::span<const LoadRequest> batch) override;

 private:
  OpenModel& model_;
  const std::vector<TensorSpec>& inputs_;
  const std::vector<TensorSpec>& outputs_;
  WorkerOptions options_;
  size_t batch_ = 0;  // the size of the last batch
  std::map<size_t, std::vector<Tensor>> made_;
};

// Runs every batch size up to the largest a few times, because the first runs of a size are slow.
Status warm_sizes(OpenModel& model, Server& server, size_t max_batch);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_MADE_UP_SERVER_H_
