#include "adapters/opencv_dnn/regions.h"

#include <atomic>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/trace.hpp>

#include "xsp/plugin.h"

namespace xsp::opencv_dnn {
namespace {

thread_local std::vector<Interval>* recorded = nullptr;
// The place in OpenCV's code that runs a layer; nullptr until it is found.
std::atomic<const void*> layer_location{nullptr};

bool is_layer(const cv::utils::trace::details::Region::LocationStaticStorage& location) {
  const void* known = layer_location.load(std::memory_order_relaxed);
  if (known != nullptr) return known == &location;
  // The name looks like "void cv::dnn::dnn4_v20220524::Net::Impl::forwardLayer(...)".
  if (std::strstr(location.name, "::forwardLayer(") == nullptr) return false;
  layer_location.store(&location, std::memory_order_relaxed);
  return true;
}

}  // namespace

RegionRecorder::RegionRecorder(std::vector<Interval>* layers) { recorded = layers; }
RegionRecorder::~RegionRecorder() { recorded = nullptr; }

// OpenCV has no layers within layers, so intervals do not nest.
bool begin_layer(const cv::utils::trace::details::Region::LocationStaticStorage& location) {
  if (recorded == nullptr || !is_layer(location)) return false;
  recorded->push_back({xsp_now_ns(), 0});
  return true;
}

void end_layer() {
  if (recorded != nullptr && !recorded->empty()) recorded->back().end_ns = xsp_now_ns();
}

}  // namespace xsp::opencv_dnn

// OpenCV's own functions would also do nothing, unless OPENCV_TRACE is set.
namespace cv::utils::trace::details {

__attribute__((visibility("default"))) Region::Region(const LocationStaticStorage& location)
    : pImpl(nullptr), implFlags(xsp::opencv_dnn::begin_layer(location) ? 1 : 0) {}

__attribute__((visibility("default"))) void Region::destroy() {
  implFlags = 0;
  xsp::opencv_dnn::end_layer();
}

}  // namespace cv::utils::trace::details
