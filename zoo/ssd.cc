// SSD300 with MobileNet v1 (Liu et al. 2016, Howard et al. 2017), as in TensorFlow's detection
// models and MLPerf Inference: six feature maps, 1917 anchors, 91 classes of which 0 is background.
// It returns boxes and scores, and the boxes that non-maximum suppression selects.
#include <cmath>

#include "zoo/mobilenet.h"
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kImage = 300;
constexpr int64_t kClasses = 91;
constexpr double kEpsilon = 1e-3;
constexpr double kMinScale = 0.2;
constexpr double kMaxScale = 0.95;
constexpr int64_t kMaxSelected = 100;  // per class
constexpr float kOverlap = 0.6f;
constexpr float kMinScore = 0.3f;
// Every class is unlikely, as in trained detectors, so that some tens of anchors out of thousands
// pass kMinScore.
constexpr double kClassBias = -4;
constexpr double kClassGain = 4;

struct Anchors {
  std::vector<float> centers;  // y, x
  std::vector<float> sizes;    // height, width
  int64_t count = 0;
};

double scale_of(size_t map, size_t maps) {
  if (map == maps) return 1;
  return kMinScale +
         (kMaxScale - kMinScale) * static_cast<double>(map) / static_cast<double>(maps - 1);
}

// Returns the sizes of the anchors at each place of feature map `map`.
std::vector<std::pair<double, double>> anchor_sizes(size_t map, size_t maps) {
  const double scale = scale_of(map, maps);
  const auto sized = [](double s, double aspect) {
    return std::pair<double, double>(s / std::sqrt(aspect), s * std::sqrt(aspect));
  };
  if (map == 0) return {{0.1, 0.1}, sized(scale, 2), sized(scale, 0.5)};
  const double between = std::sqrt(scale * scale_of(map + 1, maps));
  return {{scale, scale},  sized(scale, 2),       sized(scale, 0.5),
          sized(scale, 3), sized(scale, 1.0 / 3), {between, between}};
}

Anchors make_anchors(const std::vector<FeatureMap>& maps) {
  Anchors anchors;
  for (size_t map = 0; map < maps.size(); ++map) {
    const double size = static_cast<double>(maps[map].size);
    for (int64_t place = 0; place < maps[map].size * maps[map].size; ++place) {
      const double y = (static_cast<double>(place / maps[map].size) + 0.5) / size;
      const double x = (static_cast<double>(place % maps[map].size) + 0.5) / size;
      for (const auto& [height, width] : anchor_sizes(map, maps.size())) {
        anchors.centers.insert(anchors.centers.end(),
                               {static_cast<float>(y), static_cast<float>(x)});
        anchors.sizes.insert(anchors.sizes.end(),
                             {static_cast<float>(height), static_cast<float>(width)});
        ++anchors.count;
      }
    }
  }
  return anchors;
}

formats::Value conv_bn_relu6(formats::Builder& b, const std::string& name, const formats::Value& x,
                             int64_t channels, const formats::Window& window) {
  return b.relu6(name + "/relu6",
                 b.batch_norm(name + "/bn", b.conv(name, x, channels, window), kEpsilon));
}

// Returns the backbone's last two maps of different size, and four smaller ones.
std::vector<FeatureMap> feature_maps(formats::Builder& b, const formats::Value& image) {
  const std::vector<FeatureMap> backbone = mobilenet_v1_backbone(b, "backbone/", image, kImage);
  std::vector<FeatureMap> maps = {backbone[10], backbone[12]};
  constexpr int64_t kChannels[] = {512, 256, 256, 128};
  for (const int64_t channels : kChannels) {
    const FeatureMap& last = maps.back();
    const std::string name = "extra" + std::to_string(maps.size() - 1);
    formats::Value x = conv_bn_relu6(b, name + "/conv1x1", last.value, channels / 2, {});
    x = conv_bn_relu6(b, name + "/conv3x3", x, channels, formats::same_window(last.size, 3, 2));
    maps.push_back({x, (last.size + 1) / 2});
  }
  return maps;
}

// Adds a 1x1 convolution, and returns its output with one row per anchor.
formats::Value rows(formats::Builder& b, const std::string& name, const formats::Value& x,
                    int64_t anchors, int64_t columns, double bias, double gain) {
  const formats::Distribution weights =
      formats::with_variance(gain / static_cast<double>(x.channels));
  const int64_t channels = anchors * columns;
  const formats::Value weight = b.weight(name + "/weight", {channels, x.channels, 1, 1}, weights);
  const formats::Value offset = b.weight(name + "/bias", {channels}, {bias, 0.05});
  formats::Value y = b.node(name, "Conv", {x, weight, offset},
                            {formats::attribute("kernel_shape", {1, 1})}, channels);
  y = b.transpose(name + "/Transpose", y, {0, 2, 3, 1});
  return b.reshape(name + "/Reshape", y, {0, -1, columns}, columns);
}

// Returns boxes as corners, from the network's output for each anchor: the offset of its centre,
// and the change of its size.
formats::Value decode(formats::Builder& b, const formats::Value& encoded, const Anchors& anchors) {
  const std::string name = "decode";
  const formats::Value variances =
      b.constant_floats(name + "/variances", {4}, {0.1f, 0.1f, 0.2f, 0.2f});
  const formats::Value scaled = b.binary(name + "/Mul", "Mul", encoded, variances);
  const std::vector<formats::Value> parts =
      b.nodes(name + "/Split", "Split", {scaled, b.constant(name + "/sizes", {2, 2})},
              {formats::attribute("axis", int64_t{2})}, {2, 2});
  const std::vector<int64_t> dimensions = {1, anchors.count, 2};
  const formats::Value centers =
      b.constant_floats(name + "/anchor_centers", dimensions, anchors.centers);
  const formats::Value sizes = b.constant_floats(name + "/anchor_sizes", dimensions, anchors.sizes);
  formats::Value center = b.binary(name + "/center/Mul", "Mul", parts[0], sizes);
  center = b.add(name + "/center/Add", center, centers);
  formats::Value half = b.unary(name + "/size/Exp", "Exp", parts[1]);
  half = b.binary(name + "/size/Mul", "Mul", half, sizes);
  half = b.binary(name + "/size/Mul_1", "Mul", half, b.scalar(name + "/half", 0.5f));
  const formats::Value low = b.binary(name + "/low", "Sub", center, half);
  const formats::Value high = b.add(name + "/high", center, half);
  return b.node(name + "/Concat", "Concat", {low, high}, {formats::attribute("axis", int64_t{2})});
}

formats::Value select(formats::Builder& b, const formats::Value& boxes,
                      const formats::Value& scores) {
  const std::string name = "nms";
  const formats::Value objects =
      b.node(name + "/Slice", "Slice",
             {scores, b.constant(name + "/start", {1}), b.constant(name + "/end", {kClasses}),
              b.constant(name + "/axis", {2})});
  const formats::Value by_class = b.transpose(name + "/Transpose", objects, {0, 2, 1});
  return b.node(name + "/NonMaxSuppression", "NonMaxSuppression",
                {boxes, by_class, b.constant(name + "/max_selected", {kMaxSelected}),
                 b.constant_floats(name + "/overlap", {1}, {kOverlap}),
                 b.constant_floats(name + "/min_score", {1}, {kMinScore})});
}

void ssd_mobilenet(formats::Builder& b) {
  const formats::Value image = b.input("image", formats::kFloat32,
                                       {formats::symbolic("batch"), formats::fixed(3),
                                        formats::fixed(kImage), formats::fixed(kImage)});
  const std::vector<FeatureMap> maps = feature_maps(b, image);
  std::vector<formats::Value> box_rows;
  std::vector<formats::Value> class_rows;
  for (size_t map = 0; map < maps.size(); ++map) {
    const std::string name = "head" + std::to_string(map);
    const int64_t anchors = static_cast<int64_t>(anchor_sizes(map, maps.size()).size());
    box_rows.push_back(
        rows(b, name + "/box", maps[map].value, anchors, 4, 0, formats::Builder::kLinear));
    class_rows.push_back(
        rows(b, name + "/class", maps[map].value, anchors, kClasses, kClassBias, kClassGain));
  }
  const Anchors anchors = make_anchors(maps);
  const formats::Value boxes = decode(b, b.concat("boxes/Concat", box_rows), anchors);
  const formats::Value scores =
      b.unary("scores/Sigmoid", "Sigmoid", b.concat("scores/Concat", class_rows));
  const formats::Value selected = select(b, boxes, scores);
  b.output(boxes, "boxes", formats::kFloat32,
           {formats::symbolic("batch"), formats::fixed(anchors.count), formats::fixed(4)});
  b.output(scores, "scores", formats::kFloat32,
           {formats::symbolic("batch"), formats::fixed(anchors.count), formats::fixed(kClasses)});
  b.output(selected, "selected_indices", formats::kInt64,
           {formats::symbolic("selected"), formats::fixed(3)});
}

}  // namespace

std::vector<Recipe> ssd_recipes() {
  return {{"ssd_mobilenet", "SSD300 MobileNet v1", "object detection",
           "TensorFlow's ssd_mobilenet_v1_coco: 91 classes, 1917 anchors", 6800000, 1.235,
           "Howard et al. 2017, table 13 (6.8 M parameters); Reddi et al. 2019, table I (2.47 GOP)",
           ssd_mobilenet}};
}

}  // namespace xsp::zoo
