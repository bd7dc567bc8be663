// cuDNN: reads plans, and the descriptors of the calls that take them one by one.
#include <stdlib.h>

#include "collectors/library_calls/describe.h"
#include "collectors/library_calls/kept.h"
#include "collectors/library_calls/plan_json.h"
#include "library_calls/headers.h"

namespace xsp::library_calls {
namespace {

// Some plans have a longer text, because of their kernels' code, which comes last.
constexpr int64_t kJsonBytes = 1 << 18;
constexpr int kDimensionsMax = 8;  // CUDNN_DIM_MAX

using GetAttribute = int(void* descriptor, int name, int type, int64_t wanted, int64_t* count,
                         void* values);
using GetTensor = int(void* tensor, int wanted, int32_t* type, int32_t* count, int32_t* dimensions,
                      int32_t* strides);
using GetFilter = int(void* filter, int wanted, int32_t* type, int32_t* format, int32_t* count,
                      int32_t* dimensions);
using GetConvolution = int(void* convolution, int wanted, int32_t* count, int32_t* padding,
                           int32_t* stride, int32_t* dilation, int32_t* mode, int32_t* type);
using GetRnn = int(void* rnn, int32_t* algorithm, int32_t* cell, int32_t* bias, int32_t* direction,
                   int32_t* input, int32_t* type, int32_t* precision, int32_t* math,
                   int32_t* input_size, int32_t* hidden_size, int32_t* projection_size,
                   int32_t* layers, void** dropout, uint32_t* flags);
using GetRnnData = int(void* data, int32_t* type, int32_t* layout, int32_t* sequence,
                       int32_t* batch, int32_t* vector, int wanted, int32_t* lengths,
                       void* padding);

Sibling<GetAttribute> get_attribute{"cudnnBackendGetAttribute"};
Sibling<GetTensor> get_tensor{"cudnnGetTensorNdDescriptor"};
Sibling<GetFilter> get_filter{"cudnnGetFilterNdDescriptor"};
Sibling<GetConvolution> get_convolution{"cudnnGetConvolutionNdDescriptor"};
Sibling<GetRnn> get_rnn{"cudnnGetRNNDescriptor_v8"};
Sibling<GetRnnData> get_rnn_data{"cudnnGetRNNDataDescriptor"};

uint64_t handle_of(void* plan) { return reinterpret_cast<uintptr_t>(plan); }

// Called with a plan's first call.
void learn_plan(const Function* function, void* plan) {
  Problem facts;
  GetAttribute* get = get_attribute.of(function);
  auto* json = static_cast<char*>(malloc(kJsonBytes + 1));
  int64_t count = 0;
  if (get != nullptr && json != nullptr &&
      get(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, kJsonBytes, &count,
          json) == 0) {
    json[count < 0 ? 0 : count < kJsonBytes ? count : kJsonBytes] = '\0';
    add_plan_facts(json, &facts);
  }
  free(json);
  keep(handle_of(plan), facts);
}

}  // namespace

void describe_plan(Problem* problem, const Function* function, void* plan) {
  if (plan == nullptr || add_kept(problem, handle_of(plan))) return;
  learn_plan(function, plan);
  add_kept(problem, handle_of(plan));
}

void forget_plan(void* plan) {
  if (plan != nullptr) forget(handle_of(plan));
}

void describe_tensor(Problem* problem, const Function* function, void* tensor,
                     const Field* fields) {
  GetTensor* get = get_tensor.of(function);
  int32_t type = 0, count = 0, dimensions[kDimensionsMax], strides[kDimensionsMax];
  if (get == nullptr || tensor == nullptr ||
      get(tensor, kDimensionsMax, &type, &count, dimensions, strides) != 0) {
    return;
  }
  problem->add(&fields[0], type);
  add_list(problem, &fields[1], dimensions, count < kDimensionsMax ? count : kDimensionsMax);
}

void describe_filter(Problem* problem, const Function* function, void* filter,
                     const Field* fields) {
  GetFilter* get = get_filter.of(function);
  int32_t type = 0, format = 0, count = 0, dimensions[kDimensionsMax];
  if (get == nullptr || filter == nullptr ||
      get(filter, kDimensionsMax, &type, &format, &count, dimensions) != 0) {
    return;
  }
  problem->add(&fields[0], type);
  add_list(problem, &fields[1], dimensions, count < kDimensionsMax ? count : kDimensionsMax);
}

void describe_convolution(Problem* problem, const Function* function, void* convolution,
                          const Field* fields) {
  constexpr int kWanted = 3;  // cuDNN refuses more than it has room for, CUDNN_DIM_MAX - 2
  GetConvolution* get = get_convolution.of(function);
  int32_t count = 0, mode = 0, type = 0;
  int32_t padding[kDimensionsMax], stride[kDimensionsMax], dilation[kDimensionsMax];
  if (get == nullptr || convolution == nullptr ||
      get(convolution, kWanted, &count, padding, stride, dilation, &mode, &type) != 0) {
    return;
  }
  count = count < kWanted ? count : kWanted;
  add_list(problem, &fields[0], padding, count);
  add_list(problem, &fields[1], stride, count);
  add_list(problem, &fields[2], dilation, count);
}

void describe_rnn(Problem* problem, const Function* function, void* rnn, const Field* fields) {
  GetRnn* get = get_rnn.of(function);
  int32_t algorithm, cell, bias, direction, input, type, precision, math;
  int32_t input_size, hidden_size, projection_size, layers;
  void* dropout = nullptr;
  uint32_t flags = 0;
  if (get == nullptr || rnn == nullptr ||
      get(rnn, &algorithm, &cell, &bias, &direction, &input, &type, &precision, &math, &input_size,
          &hidden_size, &projection_size, &layers, &dropout, &flags) != 0) {
    return;
  }
  const int32_t values[] = {type, cell, direction, input_size, hidden_size, layers};
  for (const int32_t value : values) problem->add(fields++, value);
}

void describe_rnn_data(Problem* problem, const Function* function, void* data,
                       const Field* fields) {
  GetRnnData* get = get_rnn_data.of(function);
  int32_t type, layout, sequence, batch, vector, lengths[1];
  double padding = 0;
  if (get == nullptr || data == nullptr ||
      get(data, &type, &layout, &sequence, &batch, &vector, 0, lengths, &padding) != 0) {
    return;
  }
  problem->add(&fields[0], sequence);
  problem->add(&fields[1], batch);
  problem->add(&fields[2], vector);
}

}  // namespace xsp::library_calls
