// Reads a model's files into a network of OpenCV, with its inputs and outputs.
#ifndef XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_
#define XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_

#include <cstdint>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

#include "adapters/opencv_dnn/files.h"
#include "xsp/adapter_model.hpp"

namespace xsp::opencv_dnn {

// Holds the options --option KEY=VALUE.
struct Options {
  std::string other_file;          // config, weights: the second file, if it has another name
  std::vector<InputShape> inputs;  // inputs: NAME:1,3,224,224;... if the model's file lacks them
  bool fusion = true;              // fusion: 0, 1
  bool opencl = false;             // target: cpu, opencl
  bool traces_layers = true;       // layer_times: traced, profile
};
// Returns the error in an option; empty if there is none.
std::string parse_options(const xsp_open_options& given, Options* options);

struct Network {
  cv::dnn::Net net;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<cv::String> output_layers;  // layers whose results are requested
};

// On failure, reports the reason through the host.
xsp_status open_network(const xsp_host* host, const std::string& path, const Options& options,
                        Network* network);

// Returns the path of libopencv_dnn.
std::string library_path();

// Returns whether it was built with OpenCL.
bool has_opencl();

// Returns the text of an OpenCV exception on one line, without its source location.
std::string condensed(const cv::Exception& error);

using Shapes = std::vector<cv::dnn::MatShape>;

// Holds the shapes of every layer of a network, by its id, for given inputs.
struct LayerShapes {
  std::vector<int> ids;
  std::vector<Shapes> inputs;
  std::vector<Shapes> outputs;
};
LayerShapes layer_shapes(const cv::dnn::Net& net, const Shapes& inputs);

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_NETWORK_H_
