// Reads a plan of cuDNN from the JSON by which cuDNN represents it
// (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, as cuDNN 9.19 writes it):
//
//     {..., "operationGraph": {..., "tensors": [{"name": "119", "dataType": "CUDNN_DATA_FLOAT",
//        "dim": [8,3,3,3], ..., "isByValue": false, ...}, ...],
//      "nodes": [{"operation": "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR", ...,
//        "pad": [1,1], ..., "X": "120", "W": "119", "Y": "121"}]}, ...,
//      "engine": {"engineId": 70, ...}}
//
// From a text of another form it takes the parts that it finds.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_PLAN_JSON_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_PLAN_JSON_H_

#include "collectors/library_calls/call.h"

namespace xsp::library_calls {

// Adds the operation (of all nodes, "convolution_forward+pointwise"), the engine, and of the first
// node padding, stride, dilation and its tensors' types and shapes (x_dtype, x_shape, ...).
void add_plan_facts(const char* json, Problem* facts);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_PLAN_JSON_H_
