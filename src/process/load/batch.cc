// Joins values into a batch, and takes a batch apart.
#include <cstring>

#include "process/load/pipeline_server.h"

namespace xsp::process {
namespace {

using pipelines::Value;

// Returns the number of bytes of a block that is contiguous whatever the batch: all dimensions
// from `axis` on.
size_t block_bytes(const std::vector<int64_t>& dimensions, size_t axis, uint32_t dtype) {
  const std::vector<int64_t> inner(dimensions.begin() + static_cast<ptrdiff_t>(axis),
                                   dimensions.end());
  return static_cast<size_t>(pipelines::element_count(inner)) * dtype_bytes(dtype);
}

}  // namespace

Result<Value> join_batch(const std::vector<Value>& values, int axis) {
  const Value& first = values[0];
  if (axis < 0) return first;
  const auto at = static_cast<size_t>(axis);
  if (at > first.type.dimensions.size()) return usage("the batch dimension is not one of it");
  for (const Value& value : values) {
    if (value.type.dtype == first.type.dtype && value.type.dimensions == first.type.dimensions) {
      continue;
    }
    return usage("requests of one batch give " + pipelines::type_text(first.type) + " and " +
                 pipelines::type_text(value.type) +
                 ": answer them one by one, without --max-batch");
  }
  pipelines::Type type = pipelines::tensor_type(first.type.dtype, first.type.dimensions);
  type.dimensions.insert(type.dimensions.begin() + axis, static_cast<int64_t>(values.size()));
  if (pipelines::element_count(type.dimensions) < 0) {
    return usage("a batch of " + std::to_string(values.size()) + " is too large: make it smaller");
  }
  Value joined = pipelines::zeros(std::move(type));
  const size_t block = block_bytes(first.type.dimensions, at, first.type.dtype);
  size_t offset = 0;
  for (size_t done = 0; block > 0 && done < first.data.size(); done += block) {
    for (const Value& value : values) {
      std::memcpy(joined.data.data() + offset, value.data.data() + done, block);
      offset += block;
    }
  }
  return joined;
}

Value window_of(const Value& value, size_t window) {
  Value part =
      pipelines::zeros(pipelines::tensor_type(value.type.dtype, dimensions_of_window(value.type)));
  std::memcpy(part.data.data(), value.data.data() + window * part.data.size(), part.data.size());
  return part;
}

Result<Value> part_of_batch(const Tensor& tensor, int axis, size_t batch, size_t position) {
  pipelines::Type type = pipelines::tensor_type(tensor.dtype, tensor.dimensions);
  const auto at = static_cast<size_t>(axis);
  const bool has_batch = axis >= 0 && at < type.dimensions.size() &&
                         type.dimensions[at] == static_cast<int64_t>(batch);
  if (!has_batch && batch > 1) {
    return usage("the model gives " + pipelines::type_text(type) + " for a batch of " +
                 std::to_string(batch) + ": answer requests one by one, without --max-batch");
  }
  if (has_batch) type.dimensions.erase(type.dimensions.begin() + axis);
  Value part = pipelines::zeros(std::move(type));
  if (!has_batch) {
    part.data = tensor.data;
    return part;
  }
  const size_t block = block_bytes(part.type.dimensions, at, tensor.dtype);
  size_t offset = position * block;
  for (size_t done = 0; block > 0 && done < part.data.size(); done += block) {
    std::memcpy(part.data.data() + done, tensor.data.data() + offset, block);
    offset += batch * block;
  }
  return part;
}

}  // namespace xsp::process
