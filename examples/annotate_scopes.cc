// annotate_scopes.cc: annotates a model of one's own, in C++, on several threads.
//
//   xsp run -o a.xsp -- ./annotate_scopes 300
//   XSP_TRACE=a.xtrace ./annotate_scopes 300 && xsp import a.xtrace -o a.xsp
//
// A span ends with its scope. Each thread's spans nest separately; no thread waits for another.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "xsp/xsp.hpp"

namespace {

constexpr int kBatch = 4;

double run_layer(int index) {
  volatile double sum = 0;
  for (int i = 1; i <= 10000 * (index + 1); ++i) sum = sum + 1.0 / i;
  return sum;
}

void run_worker(int worker, int inferences) {
  XSP_SPAN(XSP_LEVEL_APPLICATION, "worker");
  static const xsp::Key index("index");
  // Names found at run time: each is created once, and then costs no more than a static one.
  std::vector<xsp::Site> layers;
  for (int i = 0; i < 3; ++i) {
    layers.emplace_back(XSP_LEVEL_LAYER, ("layer" + std::to_string(i)).c_str(), "Conv");
    layers.back().attribute("input_shapes", "[[1,3,224,224]]").counter("output_bytes", 4096.0 * i);
  }
  static xsp::Site model(XSP_LEVEL_MODEL, "model");
  for (int i = 0; i < inferences; ++i) {
    xsp::Span inference(model);
    inference.set_batch(kBatch);
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      xsp::Span span(layers[layer]);
      span.set(index, i).set(index, worker);
      run_layer(static_cast<int>(layer));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int inferences = argc > 1 ? std::atoi(argv[1]) : 10;
  const xsp::Recording recording;
  if (recording.error() != 0) {
    std::fprintf(stderr, "error: cannot record: %s: set XSP_TRACE to a file\n",
                 std::strerror(recording.error()));
    return 1;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(run_worker, i, inferences);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
