// What lies behind opaque parameters, read through the libraries' own getters: descriptors, plans,
// communicators. tools/library_calls.py writes the calls, where a parameter has such a type, and
// the fields, in the order in which DESCRIBED there lists them.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {

// cublasLt
void describe_matmul(Problem* problem, const Function* function, void* matmul, const Field* fields);
void describe_layout(Problem* problem, const Function* function, void* layout, const Field* fields);
void describe_algorithm(Problem* problem, const Function* function, void* algorithm,
                        const Field* fields);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_DESCRIBE_H_
