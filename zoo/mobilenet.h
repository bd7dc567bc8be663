// MobileNet v1's convolutions, which detectors also use.
#ifndef XSP_ZOO_MOBILENET_H_
#define XSP_ZOO_MOBILENET_H_

#include <string>
#include <vector>

#include "formats/onnx/builder.h"

namespace xsp::zoo {

struct FeatureMap {
  formats::Value value;
  int64_t size = 0;  // its height and width
};

// Returns the outputs of the thirteen depthwise separable blocks on a square image of `size`
// pixels. Each has `quarters` / 4 of the full network's channels.
std::vector<FeatureMap> mobilenet_v1_backbone(formats::Builder& b, const std::string& prefix,
                                              const formats::Value& x, int64_t size,
                                              int64_t quarters = 4);

}  // namespace xsp::zoo

#endif  // XSP_ZOO_MOBILENET_H_
