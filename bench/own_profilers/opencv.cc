// Prints OpenCV's own times of a network's layers, without xsp: opencv STEM RUNS, for STEM.prototxt
// and STEM.caffemodel. The output has a line NAME<TAB>NS for each layer and run, then the flops
// that OpenCV counts. bench/own_profilers.py builds it.
#include <cstdio>
#include <cstdlib>
#include <opencv2/dnn.hpp>
int main(int, char** argv) {
  cv::setNumThreads(1);
  const std::string stem = argv[1];
  cv::dnn::Net net = cv::dnn::readNetFromCaffe(stem + ".prototxt", stem + ".caffemodel");
  const int shape[] = {1, 3, 224, 224};
  cv::Mat input(4, shape, CV_32F, cv::Scalar(0.5));
  for (int run = 0; run < std::atoi(argv[2]); ++run) {
    net.setInput(input);
    net.forward();
    std::vector<double> ticks;
    net.getPerfProfile(ticks);
    const std::vector<cv::String> names = net.getLayerNames();
    for (size_t i = 0; i < names.size() && i < ticks.size(); ++i) {
      std::printf("%s\t%.0f\n", names[i].c_str(), ticks[i] * 1e9 / cv::getTickFrequency());
    }
  }
  std::printf("flops\t%lld\n", (long long)net.getFLOPS(cv::dnn::MatShape(shape, shape + 4)));
}
