// When OpenCV ran each layer of a network.
//
// OpenCV keeps the duration of a layer alone (Net::getPerfProfile). When it began is told by the
// regions that it marks in its own code for tracing: Net::Impl::forwardLayer is one, and every
// layer passes through it in the order of the layers' ids, those that were fused into another one
// included. A region calls two functions of OpenCV's public interface (core/utils/trace.hpp), which
// the adapter defines itself; as it is loaded with a scope of its own, libopencv_dnn's calls come
// here before they come to libopencv_core. OpenCV's own trace (OPENCV_TRACE) is off with it.
//
// Where they do not come (a library that was built without tracing, or that was in the process
// before the adapter), there are none, and layers are placed by their durations.
#ifndef XSP_ADAPTERS_OPENCV_DNN_REGIONS_H_
#define XSP_ADAPTERS_OPENCV_DNN_REGIONS_H_

#include <cstdint>
#include <vector>

namespace xsp::opencv_dnn {

struct Interval {
  int64_t start_ns;
  int64_t end_ns;
};

// While it lives, intervals of the layers that this thread runs are appended to a list.
class RegionRecorder {
 public:
  explicit RegionRecorder(std::vector<Interval>* layers);
  ~RegionRecorder();
  RegionRecorder(const RegionRecorder&) = delete;
  RegionRecorder& operator=(const RegionRecorder&) = delete;
};

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_REGIONS_H_
