// Layers as TensorRT launches them: the ranges of NVTX that it opens around the work of each layer.
//
// A layer of the domain "TensorRT" may be a subgraph that another compiler of TensorRT's has fused,
// "{ForeignNode[first...last]}". It is no layer, but its parts are: they are ranges of the domain
// "myelin-exec" inside it.
#ifndef XSP_ADAPTERS_TENSORRT_RANGES_H_
#define XSP_ADAPTERS_TENSORRT_RANGES_H_

namespace xsp::tensorrt {

class Layers;

// Must be called before TensorRT's library is loaded: see NvtxLayers::offer.
void offer_ranges();

// During its lifetime, ranges that the calling thread opens are layers; null: they are not. A
// thread has at most one at a time.
class RecordRanges {
 public:
  explicit RecordRanges(Layers* layers);
  ~RecordRanges();
  RecordRanges(const RecordRanges&) = delete;
  RecordRanges& operator=(const RecordRanges&) = delete;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_RANGES_H_
