// Facts behind opaque parameters (descriptors, plans, communicators), read by the libraries' own
// getters. For each parameter of such a type, tools/library_calls writes the call and the fields,
// in the order of the list DESCRIBED there.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {

// Adds a list of `count` numbers, but at most as many as a tensor has dimensions.
template <typename Number>
void add_list(Problem* problem, const Field* field, const Number* numbers, int64_t count) {
  constexpr int64_t kListMax = 12;
  if (numbers == nullptr) return;
  for (int64_t i = 0; i < count && i < kListMax; ++i) problem->add(field, numbers[i]);
}

// cublasLt
void describe_matmul(Problem* problem, const Function* function, void* matmul, const Field* fields);
void describe_layout(Problem* problem, const Function* function, void* layout, const Field* fields);
void describe_algorithm(Problem* problem, const Function* function, void* algorithm,
                        const Field* fields);
// cuDNN
void describe_plan(Problem* problem, const Function* function, void* plan);
void forget_plan(void* plan);
void describe_tensor(Problem* problem, const Function* function, void* tensor, const Field* fields);
void describe_filter(Problem* problem, const Function* function, void* filter, const Field* fields);
void describe_convolution(Problem* problem, const Function* function, void* convolution,
                          const Field* fields);
void describe_rnn(Problem* problem, const Function* function, void* rnn, const Field* fields);
void describe_rnn_data(Problem* problem, const Function* function, void* data, const Field* fields);
// cuFFT
void keep_fft(int32_t plan, const Problem& problem);
void describe_fft(Problem* problem, const Function* function, int32_t plan);
// NCCL
void describe_communicator(Problem* problem, const Function* function, void* communicator,
                           const Field* fields);
// oneDNN
void describe_primitive(Problem* problem, const Function* function, void* primitive,
                        const Field* fields);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_
