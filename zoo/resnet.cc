// ResNets of He, Zhang, Ren and Sun 2015. Those with bottlenecks are v1.5: like v1, but a
// bottleneck that halves the image does so in its 3x3 convolution.
#include <array>

#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

constexpr int64_t kExpansion = 4;  // of a bottleneck's last convolution
// The last scale of a residual branch: small, as after training, so that sums stay of one size.
constexpr double kBranchScale = 0.3;

formats::Value conv_bn(formats::Builder& b, const std::string& conv, const std::string& bn,
                       const formats::Value& x, int64_t channels, const formats::Window& window,
                       double scale = 1) {
  return b.batch_norm(bn, b.conv(conv, x, channels, window), 1e-5, scale);
}

formats::Value bottleneck(formats::Builder& b, const std::string& name, const formats::Value& x,
                          int64_t width, int64_t stride) {
  formats::Value y = conv_bn(b, name + "/conv1", name + "/bn1", x, width, {});
  y = b.relu(name + "/relu1", y);
  y = conv_bn(b, name + "/conv2", name + "/bn2", y, width, {3, stride, 1});
  y = b.relu(name + "/relu2", y);
  y = conv_bn(b, name + "/conv3", name + "/bn3", y, width * kExpansion, {}, kBranchScale);
  formats::Value shortcut = x;
  if (stride != 1 || x.channels != width * kExpansion) {
    shortcut = conv_bn(b, name + "/downsample/0", name + "/downsample/1", x, width * kExpansion,
                       {1, stride});
  }
  return b.relu(name + "/relu3", b.add(name + "/add", y, shortcut));
}

formats::Value basic_block(formats::Builder& b, const std::string& name, const formats::Value& x,
                           int64_t width, int64_t stride) {
  formats::Value y = conv_bn(b, name + "/conv1", name + "/bn1", x, width, {3, stride, 1});
  y = b.relu(name + "/relu1", y);
  y = conv_bn(b, name + "/conv2", name + "/bn2", y, width, {3, 1, 1}, kBranchScale);
  formats::Value shortcut = x;
  if (stride != 1 || x.channels != width) {
    shortcut = conv_bn(b, name + "/downsample/0", name + "/downsample/1", x, width, {1, stride});
  }
  return b.relu(name + "/relu2", b.add(name + "/add", y, shortcut));
}

using Block = formats::Value (*)(formats::Builder& b, const std::string& name,
                                 const formats::Value& x, int64_t width, int64_t stride);

// `counts` has the number of blocks of each width: 64, 128, 256 and 512.
void resnet(formats::Builder& b, Block block, const std::array<int64_t, 4>& counts) {
  formats::Value x = b.input(
      "input", formats::kFloat32,
      {formats::symbolic("batch"), formats::fixed(3), formats::fixed(224), formats::fixed(224)});
  x = b.relu("relu", conv_bn(b, "conv1", "bn1", x, 64, {7, 2, 3}));
  x = b.max_pool("maxpool", x, {3, 2, 1});
  int64_t width = 64;
  for (size_t layer = 0; layer < counts.size(); ++layer, width *= 2) {
    for (int64_t i = 0; i < counts[layer]; ++i) {
      const std::string name = "layer" + std::to_string(layer + 1) + "/" + std::to_string(i);
      x = block(b, name, x, width, i == 0 && layer > 0 ? 2 : 1);
    }
  }
  x = b.gemm("fc", b.flatten("flatten", b.global_average_pool("avgpool", x)), 1000);
  b.output(x, "output", formats::kFloat32, {formats::symbolic("batch"), formats::fixed(1000)});
}

void resnet34(formats::Builder& b) { resnet(b, basic_block, {3, 4, 6, 3}); }
void resnet50(formats::Builder& b) { resnet(b, bottleneck, {3, 4, 6, 3}); }
void resnet101(formats::Builder& b) { resnet(b, bottleneck, {3, 4, 23, 3}); }
void resnet152(formats::Builder& b) { resnet(b, bottleneck, {3, 8, 36, 3}); }

}  // namespace

std::vector<Recipe> resnet_recipes() {
  return {{"resnet34", "ResNet-34", "image classification", "torchvision resnet34", 21797672, 3.66,
           "torchvision model table (ResNet34_Weights)", resnet34},
          {"resnet50", "ResNet-50 v1.5", "image classification",
           "torchvision resnet50 (stride in the 3x3)", 25557032, 4.09,
           "torchvision model table (ResNet50_Weights)", resnet50},
          {"resnet101", "ResNet-101 v1.5", "image classification",
           "torchvision resnet101 (stride in the 3x3)", 44549160, 7.80,
           "torchvision model table (ResNet101_Weights)", resnet101},
          {"resnet152", "ResNet-152 v1.5", "image classification",
           "torchvision resnet152 (stride in the 3x3)", 60192808, 11.51,
           "torchvision model table (ResNet152_Weights)", resnet152}};
}

}  // namespace xsp::zoo
