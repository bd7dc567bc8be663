// A model's files, read into a network of OpenCV, with its inputs and outputs.
#ifndef XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_
#define XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_

#include <cstdint>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

#include "adapters/opencv_dnn/files.h"
#include "xsp/adapter_model.hpp"

namespace xsp::opencv_dnn {

// --option KEY=VALUE
struct Options {
  std::string other_file;          // config, weights: the second file, if it is called otherwise
  std::vector<InputShape> inputs;  // inputs: NAME:1,3,224,224;... where the model's file lacks them
  bool fusion = true;              // fusion: 0, 1
  bool opencl = false;             // target: cpu, opencl
  bool traces_layers = true;       // layer_times: traced, profile
};
// What is wrong with an option; empty: nothing.
std::string parse_options(const xsp_open_options& given, Options* options);

struct Network {
  cv::dnn::Net net;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<cv::String> output_layers;  // whose results are asked for
};

// On failure, says why through the host.
xsp_status open_network(const xsp_host* host, const std::string& path, const Options& options,
                        Network* network);

// The file of libopencv_dnn.
std::string library_path();

// Was it built with OpenCL?
bool has_opencl();

// What OpenCV threw, on one line, without its source location.
std::string condensed(const cv::Exception& error);

using Shapes = std::vector<cv::dnn::MatShape>;

// Of every layer of a network, by its id, for such inputs.
struct LayerShapes {
  std::vector<int> ids;
  std::vector<Shapes> inputs;
  std::vector<Shapes> outputs;
};
LayerShapes layer_shapes(const cv::dnn::Net& net, const Shapes& inputs);

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_
