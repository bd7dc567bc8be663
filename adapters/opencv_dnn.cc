// The adapter `opencv_dnn`: models of Caffe, Darknet, Torch 7, TensorFlow (frozen graphs) and ONNX,
// by OpenCV's module dnn on the CPU or an OpenCL device. Files in opencv_dnn/: files (finds the
// files that belong together), network (an open model), regions (when its layers ran), layers
// (their facts).
//
// OpenCV times every layer in every run, which cannot be switched off (two clock reads each). So
// runs without the level layer pay for it, too, like every use of OpenCV. With that level, run()
// also notes when each layer began and ended; flush() emits the spans. A layer's span is the region
// forwardLayer, which contains the layer's own time and some 0.1 us of bookkeeping. Without the
// regions, or with the option layer_times=profile, layers are placed one after the other from the
// beginning of their run, with the durations that OpenCV keeps; then they carry the attribute
// `placed`.
//
// Refused: the wheel opencv-python-headless, whose library exports Python's interface alone. Caffe
// itself has had no release since 2017, and no distribution packages it; Debian has OpenCV with its
// C++ headers.
//
// A fused layer belongs to the last of those that it reads: OpenCV skips it, with a duration of
// zero, and does not say which layer computes it. The first dimension is the batch, whatever size
// the file gives it, if the network's shapes can be inferred for two others. A .pb file needs
// `--framework opencv_dnn`, because a frozen graph is TensorFlow's own by default. The zoo writes
// Caffe's files from the same graph with the same weights, and refuses by name what Caffe cannot
// express; MobileNet v2's outputs agree with ONNX Runtime's to 8e-7 of the largest, ResNet-50's to
// 4e-7 (a test asks for 1e-5).
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <opencv2/core.hpp>

#include "adapters/opencv_dnn/layers.h"
#include "adapters/opencv_dnn/network.h"
#include "adapters/opencv_dnn/regions.h"
#include "xsp/adapter_model.hpp"

using xsp::fail;
using xsp::guarded;
using xsp::opencv_dnn::Interval;
namespace adapter = xsp::opencv_dnn;

struct xsp_model : xsp::AdapterModel {
  adapter::Network network;
  adapter::Shapes shapes;                    // shapes of the inputs that are set; empty if none are
  std::vector<std::vector<cv::Mat>> values;  // results of the last run
  std::string provider;
  bool records = false;        // layers
  bool traces_layers = false;  // their times come from regions
  size_t layer_count = 0;      // without the input's
  adapter::Layers layers;
  std::vector<Interval> intervals;  // intervals of complete runs, layer_count each
  uint32_t thread = 0;              // the thread that ran them
  // The memory to which results() points.
  std::vector<std::vector<int64_t>> result_dimensions;
  std::vector<xsp_tensor> results;
};

namespace {

constexpr const char* kOpenclDevice = "opencl:0";
constexpr size_t kSpansPerDrain = 10'000;
constexpr uint64_t kIntervalsMax = 4'000'000;  // 64 MB

xsp_status probe(const xsp_host* host, xsp_probe* probe) {
  return guarded(host, [&] {
    static const std::string version = cv::getVersionString();
    static const std::string path = adapter::library_path();
    // The device is looked up only if one is wanted, because that starts the OpenCL loader.
    static const char* const devices = adapter::has_opencl() ? "cpu,opencl" : "cpu";
    xsp::fill(probe, xsp_probe{0, version.c_str(), path.c_str(), devices,
                               ".prototxt,.caffemodel,.cfg,.weights,.t7,.net,.onnx",
                               ".prototxt+.caffemodel,.cfg+.weights", nullptr});
    return XSP_OK;
  });
}

// Handles an exception that OpenCV threw during a run.
xsp_status thrown(xsp_model* model, const char* what, xsp_status status,
                  const cv::Exception& error) {
  const std::string text = std::string(what) + ": " + adapter::condensed(error);
  if (error.code == cv::Error::StsNoMem) {
    return fail(model->host, XSP_OUT_OF_MEMORY, text + ": use a smaller batch");
  }
  return fail(model->host, status, text + ": give inputs that suit the model with --input");
}

template <typename Call>
xsp_status in_opencv(xsp_model* model, const char* what, xsp_status status, Call&& call) {
  return guarded(model->host, [&] {
    try {
      return call();
    } catch (const cv::Exception& error) {
      return thrown(model, what, status, error);
    }
  });
}

xsp_status check_device(const xsp_host* host, const char* device, const adapter::Options& options) {
  if (std::strcmp(device, "cpu") != 0 && std::strcmp(device, kOpenclDevice) != 0) {
    return fail(host, XSP_NOT_AVAILABLE,
                std::string("device '") + device +
                    "': this OpenCV has none of the kind: use --device cpu or --device opencl");
  }
  if (!options.opencl) return XSP_OK;
  const auto targets = cv::dnn::getAvailableTargets(cv::dnn::DNN_BACKEND_OPENCV);
  if (std::find(targets.begin(), targets.end(), cv::dnn::DNN_TARGET_OPENCL) != targets.end()) {
    return XSP_OK;
  }
  return fail(host, XSP_NOT_AVAILABLE,
              "device 'opencl': OpenCV finds none: install a driver, such as "
              "pocl-opencl-icd; of one that is no GPU set OPENCV_OPENCL_DEVICE=:CPU: and "
              "OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES=1");
}

xsp_status open(const xsp_host* host, const xsp_open_options* given, xsp_model** result) {
  return guarded(host, [&] {
    const auto whole = xsp::whole(given);
    adapter::Options options;
    const std::string why = adapter::parse_options(whole, &options);
    if (!why.empty()) return fail(host, XSP_FAILED, why);
    options.opencl = options.opencl || std::strcmp(whole.device, kOpenclDevice) == 0;
    xsp_status status = check_device(host, whole.device, options);
    if (status != XSP_OK) return status;
    if (whole.threads > 0) cv::setNumThreads(static_cast<int>(whole.threads));
    auto model = std::make_unique<xsp_model>();
    model->host = host;
    status = adapter::open_network(host, whole.path, options, &model->network);
    if (status != XSP_OK) return status;
    model->inputs.describe(model->network.inputs);
    model->outputs.describe(model->network.outputs);
    model->provider = options.opencl ? "OpenCV OpenCL" : "OpenCV CPU";
    model->records = (whole.levels & XSP_LEVEL_BIT(XSP_LEVEL_LAYER)) != 0;
    model->traces_layers = options.traces_layers;
    model->layer_count = model->network.net.getLayerNames().size();
    if (whole.model_site != 0) {
      xsp_site_attribute(whole.model_site, "provider", model->provider.c_str());
    }
    *result = model.release();
    return XSP_OK;
  });
}

// Emits the spans of the runs so far.
void emit_layers(xsp_model* model) {
  if (model->intervals.empty()) return;
  const std::vector<double> ticks = adapter::layer_ticks(&model->network.net);
  model->layers.describe(&model->network.net, model->shapes, ticks, model->provider);
  const std::vector<uint32_t>& sites = model->layers.sites();
  if (!model->traces_layers) {
    for (const uint32_t site : sites) {
      if (site != 0) xsp_site_attribute(site, "placed", "in order, by OpenCV's durations");
    }
  }
  size_t emitted = 0;
  for (size_t i = 0; i < model->intervals.size(); ++i) {
    const uint32_t site = sites[i % sites.size()];
    if (site == 0) continue;
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = site;
    span.thread = model->thread;
    span.start_ns = model->intervals[i].start_ns;
    span.duration_ns = model->intervals[i].end_ns - model->intervals[i].start_ns;
    xsp_emit(&span);
    // If spans are emitted faster than the drainer writes, some are lost: so it may catch up from
    // time to time.
    if (++emitted % kSpansPerDrain == 0) xsp_flush();
  }
  model->intervals.clear();
}

xsp_status set_inputs(xsp_model* model, const xsp_tensor* tensors, size_t count) {
  return in_opencv(model, "inputs", XSP_BAD_INPUT, [&] {
    emit_layers(model);
    model->shapes.clear();
    std::vector<xsp_tensor> ordered;
    const xsp_status status = in_order(*model, tensors, count, &ordered, 1, INT32_MAX);
    if (status != XSP_OK) return status;
    adapter::Shapes shapes;
    for (const xsp_tensor& tensor : ordered) {
      shapes.emplace_back(tensor.dimensions, tensor.dimensions + tensor.rank);
    }
    (void)adapter::layer_shapes(model->network.net, shapes);  // throws if they do not match
    // A single input is identified by its place, and its name may be invented.
    const bool is_only = ordered.size() == 1;
    for (size_t i = 0; i < ordered.size(); ++i) {
      const cv::Mat values(shapes[i], CV_32F, const_cast<void*>(ordered[i].data));
      model->network.net.setInput(values, is_only ? cv::String() : cv::String(ordered[i].name));
    }
    model->shapes = std::move(shapes);
    return XSP_OK;
  });
}

// Places layers one after the other, with OpenCV's durations.
void place_layers(xsp_model* model, const Interval& run) {
  const double ns_per_tick = 1e9 / cv::getTickFrequency();
  int64_t at = run.start_ns;
  for (const double ticks : adapter::layer_ticks(&model->network.net)) {
    const int64_t end = std::min(at + static_cast<int64_t>(ticks * ns_per_tick), run.end_ns);
    model->intervals.push_back({at, end});
    at = end;
  }
}

xsp_status run_recorded(xsp_model* model) {
  const size_t before = model->intervals.size();
  const int64_t start_ns = xsp_now_ns();
  {
    const adapter::RegionRecorder recorder(model->traces_layers ? &model->intervals : nullptr);
    model->network.net.forward(model->values, model->network.output_layers);
  }
  const Interval run{start_ns, xsp_now_ns()};
  model->thread = static_cast<uint32_t>(gettid());
  if (model->traces_layers) {
    // The first region is the input's.
    if (model->intervals.size() - before == model->layer_count + 1) {
      model->intervals.erase(model->intervals.begin() + static_cast<ptrdiff_t>(before));
      return XSP_OK;
    }
    model->intervals.resize(before);
    model->traces_layers = false;
    xsp::note(
        model->host,
        "this OpenCV does not tell when its layers begin: they are placed one after the other "
        "by its durations");
  }
  place_layers(model, run);
  return XSP_OK;
}

xsp_status run(xsp_model* model) {
  if (model->shapes.empty()) return no_inputs(*model);
  return in_opencv(model, "run", XSP_FAILED, [&] {
    if (model->records) return run_recorded(model);
    model->network.net.forward(model->values, model->network.output_layers);
    return XSP_OK;
  });
}

xsp_status results(xsp_model* model, const xsp_tensor** tensors, size_t* count) {
  return in_opencv(model, "results", XSP_FAILED, [&] {
    if (model->values.empty()) {
      return fail(model->host, XSP_FAILED, "results: none: run the model first");
    }
    model->results.clear();
    model->result_dimensions.clear();
    model->result_dimensions.reserve(model->outputs.size());
    for (std::vector<cv::Mat>& of_layer : model->values) {
      for (cv::Mat& value : of_layer) {
        const size_t i = model->results.size();
        if (i == model->outputs.size()) break;
        if (!value.isContinuous()) value = value.clone();
        auto& dimensions =
            model->result_dimensions.emplace_back(value.size.p, value.size.p + value.dims);
        model->results.push_back({sizeof(xsp_tensor), model->outputs[i].name.c_str(), XSP_FLOAT32,
                                  static_cast<uint32_t>(dimensions.size()), dimensions.data(),
                                  value.data, value.total() * value.elemSize()});
      }
    }
    *tensors = model->results.data();
    *count = model->results.size();
    return XSP_OK;
  });
}

xsp_status flush(xsp_model* model) {
  return in_opencv(model, "layers", XSP_FAILED, [&] {
    emit_layers(model);
    return XSP_OK;
  });
}

uint64_t runs_max(xsp_model* model) {
  if (!model->records) return 0;
  return std::max<uint64_t>(kIntervalsMax / (model->layer_count + 1), 1);
}

}  // namespace

extern "C" {
XSP_API extern const xsp_adapter xsp_adapter_entry;
const xsp_adapter xsp_adapter_entry = xsp::adapter_entry<xsp_model>({
    .name = "opencv_dnn",
    .help = "apt-get install libopencv-dnn-dev, and build xsp anew",
    .probe = probe,
    .open = open,
    .set_inputs = set_inputs,
    .run = run,
    .results = results,
    .flush = flush,
    .runs_max = runs_max,
});
}
