// The layers of a network: a site for every executed layer, with its facts.
#ifndef XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_
#define XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/opencv_dnn/network.h"

namespace xsp::opencv_dnn {

// Returns the layers' times of the last run in ticks, as OpenCV keeps them, by their ids less 1. 0
// means that the layer was fused into another one, which computed it.
std::vector<double> layer_ticks(cv::dnn::Net* net);

class Layers {
 public:
  // Describes the layers for the inputs' shapes and the ticks of a run with them: only after a run
  // it is known which layers are fused.
  void describe(cv::dnn::Net* net, const Shapes& inputs, const std::vector<double>& ticks,
                const std::string& provider);

  // By the layer's id less 1; 0 if it is fused, or cannot be recorded.
  const std::vector<uint32_t>& sites() const { return sites_; }

 private:
  uint32_t site(const cv::dnn::Layer& layer, const std::string& facts);

  std::vector<uint32_t> sites_;
  std::unordered_map<std::string, uint32_t> known_;  // by name and facts
  std::unordered_map<std::string, int> names_;       // number of sites with the name
};

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_
