// The layers of a network: a site for every one that is executed, with what is known of it.
#ifndef XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_
#define XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/opencv_dnn/network.h"

namespace xsp::opencv_dnn {

// A layer's times in ticks as OpenCV keeps them of the last run, by its id less 1; 0: it was fused
// into another one, which computed it.
std::vector<double> layer_ticks(cv::dnn::Net* net);

class Layers {
 public:
  // For the inputs' shapes and the ticks of a run with them: which layers are fused is known after
  // it.
  void describe(cv::dnn::Net* net, const Shapes& inputs, const std::vector<double>& ticks,
                const std::string& provider);

  // By the layer's id less 1; 0: it is fused, or cannot be recorded.
  const std::vector<uint32_t>& sites() const { return sites_; }

 private:
  uint32_t site(const cv::dnn::Layer& layer, const std::string& facts);

  std::vector<uint32_t> sites_;
  std::unordered_map<std::string, uint32_t> known_;  // by name and facts
  std::unordered_map<std::string, int> names_;       // how many sites have the name
};

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_LAYERS_H_
