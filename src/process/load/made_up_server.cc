#include "process/load/made_up_server.h"

namespace xsp::process {

// Sets the inputs unless those of the last batch had the same size.
Status MadeUpServer::prepare(std::span<const LoadRequest> batch) {
  const size_t size = batch.size();
  if (size == batch_) return Ok{};
  std::vector<Tensor>& tensors = made_[size];
  if (tensors.empty()) {
    options_.batch = static_cast<int64_t>(size);
    XSP_TRY(Inputs made, make_inputs(inputs_, outputs_, options_));
    tensors = std::move(made.tensors);
  }
  XSP_CHECK_OK(model_.set(tensors));
  batch_ = size;
  return Ok{};
}

Status MadeUpServer::run(std::span<const LoadRequest> batch) {
  return model_.run(batch.size(), static_cast<int64_t>(batch.front().id));
}

Status warm_sizes(OpenModel& model, Server& server, size_t max_batch) {
  constexpr int kRuns = 3;
  for (size_t size = max_batch; size > 0; --size) {
    std::vector<LoadRequest> batch(size);
    for (size_t i = 0; i < size; ++i) batch[i].id = batch[i].item = i;
    XSP_CHECK_OK(server.prepare(batch));
    for (int i = 0; i < kRuns; ++i) XSP_CHECK_OK(model.run(size, -1));
    XSP_CHECK_OK(server.warm_further(batch));
  }
  return Ok{};
}

}  // namespace xsp::process
