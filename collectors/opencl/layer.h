// The layer of the OpenCL loader.
#ifndef XSP_COLLECTORS_OPENCL_LAYER_H_
#define XSP_COLLECTORS_OPENCL_LAYER_H_

namespace xsp::opencl {

// Returns true if the loader of this process has loaded the layer.
bool is_in_place();

}  // namespace xsp::opencl

#endif  // XSP_COLLECTORS_OPENCL_LAYER_H_
