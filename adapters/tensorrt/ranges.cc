#include "adapters/tensorrt/ranges.h"

#include <cstring>

#include "adapters/tensorrt/layers.h"
#include "xsp/nvtx_layers.hpp"

namespace xsp::tensorrt {
namespace {

struct TensorRt {
  static bool is_domain(const char* name) {
    return std::strcmp(name, "TensorRT") == 0 || std::strcmp(name, "myelin-exec") == 0;
  }
  static uint32_t site(void* layers, std::string_view text) {
    return static_cast<Layers*>(layers)->site_of_range(text);
  }
};

}  // namespace

void offer_ranges() { NvtxLayers<TensorRt>::offer(); }

RecordRanges::RecordRanges(Layers* layers) {
  if (layers != nullptr) layers->begin_run();
  NvtxLayers<TensorRt>::begin(layers);
}
RecordRanges::~RecordRanges() { NvtxLayers<TensorRt>::end(); }

// NVTX calls this, by this name, in every library that was compiled with its header.
extern "C" XSP_API int InitializeInjectionNvtx2(nvtx_abi::GetExportTable get) {
  return NvtxLayers<TensorRt>::initialise(get);
}

}  // namespace xsp::tensorrt
