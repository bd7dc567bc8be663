// Feeds maps of any size and of any numbers to the step `text_boxes`: the first two bytes are the
// map's sides, the third one scales the image, and the others are pixels. What it gives are
// corners within the image, and a score for each quadrangle.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "pipelines/shared/step.h"
#include "tests/fuzz/require.h"

using xsp::pipelines::Parameters;
using xsp::pipelines::Step;
using xsp::pipelines::StepKind;
using xsp::pipelines::Value;

namespace {

std::unique_ptr<Step> make_step(bool dilates) {
  Parameters parameters{{{"dilate", dilates ? "true" : "false"}, {"most", "50"}}};
  for (const StepKind& kind : xsp::pipelines::all_steps()) {
    if (kind.name == "text_boxes") return kind.make(parameters);
  }
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Step> steps[] = {make_step(false), make_step(true)};
  if (size < 4) return 0;
  const int64_t height = data[0], width = data[1];
  Value map = xsp::pipelines::zeros(xsp::pipelines::tensor_type(XSP_FLOAT32, {1, height, width}));
  // A byte is a pixel; 255 is no number, and 254 is infinite.
  for (size_t i = 0; i < map.as<float>().size(); ++i) {
    const uint8_t byte = data[3 + i % (size - 3)];
    const float pixel = byte == 255 ? NAN : byte == 254 ? INFINITY : static_cast<float>(byte) / 200;
    map.as<float>()[i] = pixel;
  }
  map.source.height = data[2] * 7;
  map.source.width = data[2] * 3;
  const bool has_source = map.source.height > 0;
  const auto most_y = static_cast<double>(has_source ? map.source.height : height);
  const auto most_x = static_cast<double>(has_source ? map.source.width : width);
  const xsp::Result<Value> boxes = steps[data[2] % 2]->run(std::move(map));
  if (!boxes.ok()) {
    require(height < 1 || width < 1);
    return 0;
  }
  const auto corners = boxes->as<float>();
  require(corners.size() == boxes->scores.size() * 8 && boxes->scores.size() <= 50);
  for (size_t i = 0; i < corners.size(); ++i) {
    require(corners[i] >= 0 && corners[i] < (i % 2 == 0 ? most_x : most_y));
  }
  return 0;
}
