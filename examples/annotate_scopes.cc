// annotate_scopes.cc: spans in a C++ program, on several threads.
//
//   XSP_TRACE=a.xtrace ./annotate_scopes
//
// A span ends with its scope. Each thread's spans nest by themselves; none waits for another.
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "xsp/xsp.hpp"

namespace {

void run_layers(int worker) {
  XSP_SPAN(XSP_LEVEL_APPLICATION, "worker");
  static const xsp::Key index("index");
  // Names found at run time: each is made once, and then costs no more than a static one.
  std::vector<xsp::Site> layers;
  for (int i = 0; i < 3; ++i) {
    layers.emplace_back(XSP_LEVEL_LAYER, ("layer" + std::to_string(i)).c_str(), "Conv");
    layers.back().attribute("input_shapes", "[[1,3,224,224]]").counter("output_bytes", 4096.0 * i);
  }
  for (int i = 0; i < 10; ++i) {
    XSP_SPAN(XSP_LEVEL_MODEL, "model");
    for (xsp::Site& layer : layers) {
      xsp::Span span(layer);
      span.set(index, i).set(index, worker);
    }
  }
}

}  // namespace

int main() {
  const xsp::Recording recording;
  if (recording.error() != 0) {
    std::fprintf(stderr, "error: cannot record: %s: set XSP_TRACE to a file\n",
                 std::strerror(recording.error()));
    return 1;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(run_layers, i);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
